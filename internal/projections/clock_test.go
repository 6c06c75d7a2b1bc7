package projections

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// Three programs of ingest receive the events of a life in turns. The clock of one is ten minutes behind that of the
// provider, one is ten minutes ahead, and one is right. The rows are those of three right clocks, because every rule that
// compares times looks at the provider's.
func TestTheClocksOfIngestChangeNoRow(t *testing.T) {
	t.Parallel()
	skews := []time.Duration{-10 * time.Minute, 10 * time.Minute, 0}
	eachLife(t, func(t *testing.T, rules Rules, of life, log []events.Event) {
		for first := range skews {
			right, skewed := NewState(), NewState()
			for i, e := range log {
				received := func(skew time.Duration) events.Event {
					return providers.Decode(events.Message{
						Seq: e.Seq, Provider: e.Provider, ID: of.Events[i].Name, Body: of.Events[i].Body, ReceivedAt: e.OccurredAt.Add(skew),
					})
				}
				rules.Fold(right, received(0))
				rules.Fold(skewed, received(skews[(first+i)%len(skews)]))
			}
			require.Equal(t, indented(t, endingOf(right)), indented(t, endingOf(skewed)))
			for i, row := range right.Events.Inserted() {
				other := skewed.Events.Inserted()[i]
				other.ReceivedAt = row.ReceivedAt
				require.Equal(t, row, other)
			}
		}
	})
}

// A payment ten minutes ahead of the clock of ingest counts before a later event of the subscription, in both orders.
func TestAProvidersTimeAheadOfOursCounts(t *testing.T) {
	t.Parallel()
	pastDue := at(0, ofType("subscription.past_due", "e1", ofS1))
	renewed := at(10, paid("e2", paidOfS1))
	for _, log := range [][]string{{pastDue, renewed}, {renewed, pastDue}} {
		s := NewState()
		for i, body := range log {
			anyMode.Fold(s, providers.Decode(events.Message{
				Provider: "provider", Seq: uint64(i + 1), ID: "raw", Body: []byte(body), ReceivedAt: minuteOf(0),
			}))
		}
		row, _ := s.Subscriptions.Get("s1")
		require.Equal(t, "active", row.Status)
	}
}
