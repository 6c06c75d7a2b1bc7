package eventlog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A reader can have the server deliver the log to any subject that somebody listens
// to, as quickly as it can, and have it compare thousands of filters.
func TestAReaderDoesNotReachTheConnectionThatAppends(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	require.Equal(t, 2, writing.conn.NumSubscriptions(), "the answers to what it publishes and asks, under names that nobody knows")
	l := reader(t, dir)
	require.Eventually(t, func() bool { return l.conn.MaxPayload() == 8<<10 }, 10*time.Second, time.Millisecond)
}
