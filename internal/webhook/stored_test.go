package webhook

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestATimeOfAClockThatWasAheadHidesNoLaterDelivery(t *testing.T) {
	t.Parallel()
	h := &Handler{metrics: newMetrics(prometheus.NewRegistry())}
	h.AcceptedAt(time.Now().Add(time.Hour))
	require.False(t, h.metrics.stored.accepted.After(time.Now()))
	answered := time.Now().Add(time.Second)
	h.metrics.stored.confirm(time.Now(), answered)
	require.Equal(t, answered, h.metrics.stored.accepted)
}

// Deliveries overlap: their answers come in any order.
func TestTheNewestSignedDeliveryDecidesWhetherEventsAreRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, start := newStored(), time.Unix(1_700_000_000, 0)
		order := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "order")
		confirmed, refused := time.Time{}, time.Time{} // the newest of each
		began := map[time.Time]bool{}                  // the refused ones
		for _, n := range order {
			at := start.Add(time.Duration(n) * time.Second)
			if rapid.Bool().Draw(t, "stored") {
				if s.confirm(at, at.Add(time.Minute)); at.After(confirmed) {
					confirmed = at
				}
			} else {
				s.refuse(at)
				if began[at] = true; at.After(refused) {
					refused = at
				}
			}
			switch {
			case confirmed.After(refused) && !s.since.IsZero():
				t.Fatalf("the newest delivery was stored, and since is %s", s.since)
			case refused.After(confirmed) && (!began[s.since] || !s.since.After(confirmed) || s.since.After(refused)):
				t.Fatalf("since is %s; the newest stored is %s, the newest refused %s", s.since, confirmed, refused)
			}
		}
	})
}

// Other refusals are of strangers, or not worth a second try.
func TestOnlySignedDeliveriesThatWereNotStoredCountAsRefused(t *testing.T) {
	t.Parallel()
	for _, a := range answers {
		require.Equal(t, a == notConfirmed || a == lateConfirmed || a == tooMany, a.refusesEvent(), "%s %s", a.name, a.reason)
	}
}
