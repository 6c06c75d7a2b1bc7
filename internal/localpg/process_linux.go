package localpg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// setDeathSignal has the kernel send the signal to the child when its parent dies.
func setDeathSignal(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}

// orphansStop says that a server whose owner was killed shuts down by itself.
const orphansStop = true

// clusterBusy tells whether a process works in the cluster: Postgres makes the
// cluster the working folder of all its processes. It is certain of a "no"
// unless the process that the cluster names may not be looked at.
func clusterBusy(at site, named int) (busy, certain bool) {
	certain = true
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		folder, err := os.Readlink(link)
		if err == nil && folder == at.cluster && isPostgres(link) {
			return true, true
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if pid == named && errors.Is(err, fs.ErrPermission) {
			busy, certain = true, false
		}
	}
	return busy, certain
}

// isPostgres tells a server's process from a shell that someone left there.
func isPostgres(cwd string) bool {
	program, err := os.Readlink(filepath.Join(filepath.Dir(cwd), "exe"))
	return err == nil && strings.HasPrefix(filepath.Base(program), "postgres") // "postgres (deleted)" after an upgrade
}
