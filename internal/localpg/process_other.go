//go:build unix && !linux

package localpg

import (
	"net"
	"path/filepath"
	"syscall"
	"time"
)

// setDeathSignal does nothing: only Linux can signal a child when its parent dies.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// orphansStop says whether a server whose owner was killed shuts down by itself. If not, the next
// owner stops it.
const orphansStop = false

// clusterBusy reports whether the process that postmaster.pid names answers on its socket. If
// it does not, the result is not certain, because the server may be starting.
func clusterBusy(at site, named int) (busy, certain bool) {
	if named == 0 || syscall.Kill(named, 0) == syscall.ESRCH {
		return false, true
	}
	connection, err := net.DialTimeout("unix", filepath.Join(at.sockets, ".s.PGSQL."+port), time.Second)
	if err != nil {
		return false, false
	}
	connection.Close()
	return true, true
}
