package cli

import "github.com/KimMachineGun/automemlimit/memlimit"

// memoryShare is the share of a container's memory limit that Go may use.
const memoryShare = 0.9

// LimitMemory keeps Go's memory below the limit of the container or the systemd unit, unless GOMEMLIMIT is set. Without
// it, garbage would grow beyond that limit, even if what is in use has room.
func LimitMemory() {
	_, _ = memlimit.SetGoMemLimit(memoryShare) // an error means that there are no control groups
}
