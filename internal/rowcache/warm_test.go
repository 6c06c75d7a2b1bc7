package rowcache

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
)

// Each event of a batch names the same user, who has a row for each event before.
func TestWarmingTakesLittleMemoryWhateverTheRowsOfAUser(t *testing.T) {
	t.Parallel()
	const length, batchSize = 2000, 500
	cache, state := New(length, nil), projections.NewState()
	for at := 0; at < length; at += batchSize {
		batch := make([]events.Event, batchSize)
		for i := range batch {
			n := at + i + 1
			batch[i] = providers.Decode(events.Message{Provider: "provider", Seq: uint64(n), ReceivedAt: time.Unix(1767348000, 0), Body: fmt.Appendf(nil,
				`{"id":"e%d","eventType":"subscription.active","object":{"id":"s%d","metadata":{"user_id":"u","kind":"subscription"}}}`, n, n)})
		}
		seen := <-cache.Seen([][]events.Event{batch})
		require.NoError(t, cache.Fold(t.Context(), projections.Rules{Mode: projections.ModeAny}, state, batch, seen))
	}
	require.Less(t, cap(cache.warmer.entries), 2*(maxWarm+batchSize*2))
	require.Less(t, cap(cache.warmer.spans), 2*(maxWarm+batchSize*2))
}
