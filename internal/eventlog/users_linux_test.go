package eventlog

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const nobody = 65534

// as runs work on a thread of another user, where this process may: it returns
// whether it did.
func as(t *testing.T, uid int, work func()) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	var failed syscall.Errno
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		_, _, failed = syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
		if failed == 0 {
			work()
		}
	}()
	<-ended
	require.Zero(t, failed)
	return true
}

// open is a folder that others may enter, unlike t.TempDir.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func TestAnotherUserGetsNothing(t *testing.T) {
	t.Parallel()
	dir := open(t)
	s, l := listening(t, dir, "127.0.0.1:0")
	defer stop(t, s, l)
	var refusals []error
	tried := as(t, nobody, func() {
		_, reached := reach(dir)
		_, dialled := net.Dial("unix", filepath.Join(dir, "nats", "socket"))
		_, token := os.ReadFile(tokenFile(dir))
		_, key := os.ReadFile(filepath.Join(dir, "nats", keyName))
		_, blocks := os.ReadDir(logFolder(dir))
		refusals = []error{reached, dialled, token, key, blocks}
	})
	require.Equal(t, os.Geteuid() == 0, tried, "elsewhere the modes have to do: TestOnlyItsOwnUserCanReachTheLog")
	for _, refusal := range refusals {
		require.ErrorIs(t, refusal, fs.ErrPermission)
	}
	if tried {
		require.ErrorContains(t, refusals[0], "as one user")
	}
}

func TestAnotherUsersServerIsNotTrusted(t *testing.T) {
	t.Parallel()
	dir := open(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	path := filepath.Join(dir, "socket")
	var listener net.Listener
	var err error
	tried := as(t, nobody, func() { listener, err = net.Listen("unix", path) })
	if !tried {
		listener, err = net.Listen("unix", path)
	}
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer conn.Close()
	err = proveOwner(conn.(*net.UnixConn), path)
	if !tried {
		require.NoError(t, err, "its own")
		return
	}
	require.ErrorIs(t, err, errUntrusted)
	require.ErrorContains(t, err, "belongs to user 65534, this process runs as user 0")

	require.NoError(t, os.Mkdir(privatePath(dir), 0o700))
	require.NoError(t, os.Chown(privatePath(dir), nobody, -1))
	_, err = reach(dir)
	require.ErrorIs(t, err, errUntrusted)
	require.ErrorContains(t, err, privatePath(dir)+" belongs to user 65534")
	_, err = makePrivate(dir)
	require.ErrorIs(t, err, errUntrusted, "nor does ingest take it for its own")
}
