package eventlog_test

import (
	"strings"
	"testing"

	"github.com/payfold/payfold/internal/testenv/network"
	"github.com/payfold/payfold/internal/testenv/wait"
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
	// All of them take longer than the silence that ends a connection. If the machine is so busy that the line is really
	// silent for so long, another read succeeds.
	wait.Until(t, func() bool {
		all, err := read(ctx, l, 1, messages)
		return err == nil && len(all) == messages
	})
}
