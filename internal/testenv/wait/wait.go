// Package wait lets tests wait for a condition instead of a fixed time. It imports no
// package of payfold, so that the tests of every package can use it.
package wait

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Timeout is how long a test waits for a condition before it fails. Only a broken program
// takes so long, also on a busy machine.
const Timeout = 3 * time.Minute

const (
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond
)

// Until returns when condition is true, and fails the test after Timeout. It calls
// condition at once, then less and less often, in the goroutine of the caller. msgAndArgs
// says what the test waited for.
func Until(t testing.TB, condition func() bool, msgAndArgs ...any) {
	t.Helper()
	deadline, pause := time.Now().Add(Timeout), minPause
	for !condition() {
		if time.Now().After(deadline) {
			require.Fail(t, "it did not happen", msgAndArgs...)
		}
		time.Sleep(pause)
		pause = min(2*pause, maxPause)
	}
}
