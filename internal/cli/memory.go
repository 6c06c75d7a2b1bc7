package cli

import "github.com/KimMachineGun/automemlimit/memlimit"

// memoryShare is the share of a container's memory limit that Go may use.
const memoryShare = 0.9

// LimitMemory keeps Go's memory below the limit of the container or the systemd unit, unless GOMEMLIMIT is set.
// Otherwise garbage could exceed that limit, even if there is room for what is in use.
func LimitMemory() {
	_, _ = memlimit.Set(memlimit.WithRatio(memoryShare)) // an error means that there are no control groups
}
