//go:build unix && !linux

package localpg

import (
	"net"
	"path/filepath"
	"syscall"
	"time"
)

// setDeathSignal does nothing: only Linux tells a child of its parent's death.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// orphansStop says that a server whose owner was killed shuts down by itself;
// here the next owner has to tell it.
const orphansStop = false

// clusterBusy tells whether the process that the cluster names answers on its
// socket. A "no" is not certain: it may be starting.
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
