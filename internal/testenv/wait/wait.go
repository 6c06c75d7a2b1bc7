// Package wait is how tests wait: for a condition, generously, and never for a
// time. It depends on nothing of payfold, so that every package's tests can use it.
package wait

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long a test waits for what must come. Only a broken program
// takes so long, however busy the machine is; a test that passes never does.
const Patience = 3 * time.Minute

const (
	shortestPause = time.Millisecond
	longestPause  = 50 * time.Millisecond
)

// Until returns when condition is true, and fails the test where it has not become so
// within Patience. It asks at once, then less and less often, always in the
// test's own goroutine. msgAndArgs says what was waited for.
func Until(t testing.TB, condition func() bool, msgAndArgs ...any) {
	t.Helper()
	deadline, pause := time.Now().Add(Patience), shortestPause
	for !condition() {
		if time.Now().After(deadline) {
			require.Fail(t, "it did not happen", msgAndArgs...)
		}
		time.Sleep(pause)
		pause = min(2*pause, longestPause)
	}
}
