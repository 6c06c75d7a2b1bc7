package eventlog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/network"
)

// The answers to its pings queue behind the messages for longer than the idle timeout.
func TestASlowLineIsNotTakenForASilentOne(t *testing.T) {
	t.Parallel()
	ctx, n, writing := setupNATS(t)
	const messages = 16
	padding := strings.Repeat("x", 700_000)
	for i := range messages {
		store(ctx, t, writing, delivery(t, body(string(rune('a'+i)), padding)))
	}
	proxy, l := connectThrough(t, n)
	proxy.Disturb(t, network.Slow, network.ToClient)
	require.Len(t, collect(ctx, t, l, 1, messages), messages)
}
