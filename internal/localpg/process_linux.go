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

// setDeathSignal makes the kernel send the signal to the child when its parent dies.
func setDeathSignal(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}

// orphansStop says whether a server whose owner was killed shuts down by itself.
const orphansStop = true

// clusterBusy reports whether a process works in the cluster, which is the working folder of
// all processes of its Postgres. The result is certain unless this process may not inspect
// the process that postmaster.pid names.
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

// isPostgres reports whether the process is a Postgres server, not for example a shell in
// that folder.
func isPostgres(cwd string) bool {
	program, err := os.Readlink(filepath.Join(filepath.Dir(cwd), "exe"))
	return err == nil && strings.HasPrefix(filepath.Base(program), "postgres") // "postgres (deleted)" after an upgrade
}
