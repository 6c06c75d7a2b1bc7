package localpg

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

const (
	// predecessorTimeout is how long to wait for an earlier server. After it the caller
	// starts again with back-off.
	predecessorTimeout  = 15 * time.Second
	predecessorInterval = 50 * time.Millisecond
)

var errPredecessor = errors.New("an earlier server of this cluster is still running")

// awaitPredecessor waits until no process of an earlier owner works on the cluster. After the
// restart of a container, the process id in postmaster.pid can belong to another program, which
// Postgres would mistake for a postmaster. In this case awaitPredecessor removes the file.
func awaitPredecessor(ctx context.Context, at site) error {
	deadline := time.Now().Add(predecessorTimeout)
	stopped := orphansStop
	again := backoff.Every(predecessorInterval)
	for {
		pid := namedPostmaster(at.cluster)
		busy, certain := clusterBusy(at, pid)
		switch {
		case !busy && certain:
			return removePidFile(at.cluster, pid)
		case !busy:
			return nil // Postgres decides
		case time.Now().After(deadline):
			if !certain {
				return nil
			}
			return errPredecessor
		case !stopped && certain:
			// This process holds the lock, so that server has no owner.
			_ = syscall.Kill(pid, syscall.SIGINT)
			stopped = true
		}
		if err := again.Wait(ctx); err != nil {
			return err
		}
	}
}

// namedPostmaster returns the process id in postmaster.pid; 0 if there is none.
func namedPostmaster(cluster string) int {
	content, err := os.ReadFile(filepath.Join(cluster, "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(content, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil || pid <= 1 {
		return 0
	}
	return pid
}

// removePidFile removes the file if a process has that id. Otherwise Postgres checks and
// removes the file itself.
func removePidFile(cluster string, pid int) error {
	if pid == 0 || syscall.Kill(pid, 0) == syscall.ESRCH {
		return nil
	}
	err := os.Remove(filepath.Join(cluster, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
