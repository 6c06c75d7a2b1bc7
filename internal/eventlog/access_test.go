package eventlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
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
	wait.Until(t, func() bool { return l.conn.MaxPayload() == 8<<10 })
}
