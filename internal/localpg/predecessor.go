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
)

const (
	// How long a dying predecessor may take; longer is the back-off's matter.
	predecessorTime  = 15 * time.Second
	predecessorEvery = 50 * time.Millisecond
)

var errPredecessor = errors.New("an earlier server of this cluster is still there")

// awaitPredecessor waits until no process of an earlier owner works on the
// cluster, and then removes a postmaster.pid whose number now belongs to
// another program (after a restart of a container numbers come again), which
// Postgres would take for a living postmaster.
func awaitPredecessor(ctx context.Context, at site) error {
	deadline := time.Now().Add(predecessorTime)
	told := orphansStop
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
		case !told && certain:
			// This process holds the lock, so nobody owns that server.
			_ = syscall.Kill(pid, syscall.SIGINT)
			told = true
		}
		if err := pause(ctx, predecessorEvery); err != nil {
			return err
		}
	}
}

// namedPostmaster is the process number in postmaster.pid, 0 if there is none.
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

// removePidFile removes the file only where the number is in use: with a free
// number Postgres removes it itself, after checks of its own.
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
