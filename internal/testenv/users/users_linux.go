// Package users lets a test act as another user of the machine. It imports no package of
// payfold, so that the tests of every package can use it.
package users

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Other is the id of the other user, nobody.
const Other = 65534

// AsOther runs work on a thread of the other user, and returns true. If this process is not
// root it does nothing, and returns false.
func AsOther(t testing.TB, work func()) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	var failed syscall.Errno
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		_, _, failed = syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), Other, ^uintptr(0))
		if failed == 0 {
			work()
		}
	}()
	<-ended
	require.Zero(t, failed)
	return true
}

// Folder makes a folder that other users may enter, unlike t.TempDir.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}
