package webhook

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/providers"
)

func TestATimeOfAClockThatWasAheadHidesNoLaterDelivery(t *testing.T) {
	t.Parallel()
	h := &Handler{metrics: newMetrics(prometheus.NewRegistry())}
	h.AcceptedAt(time.Now().Add(time.Hour))
	require.False(t, h.metrics.stored.accepted.After(time.Now()))
	answered := time.Now().Add(time.Second)
	h.metrics.stored.confirm("creem", time.Now(), answered)
	require.Equal(t, answered, h.metrics.stored.accepted)
}

// Deliveries overlap: their answers come in any order.
func TestTheNewestSignedDeliveryDecidesWhetherEventsAreRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, start := &refusals{}, time.Unix(1_700_000_000, 0)
		order := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "order")
		confirmed, refused := time.Time{}, time.Time{} // the newest of each
		began := map[time.Time]bool{}                  // the refused ones
		for _, n := range order {
			at := start.Add(time.Duration(n) * time.Second)
			if rapid.Bool().Draw(t, "stored") {
				if s.confirm(at); at.After(confirmed) {
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

func TestTheTimeUntilAProviderGivesUpIsThatOfItsSchedule(t *testing.T) {
	t.Parallel()
	s, now := newStored("creem", "stripe", "polar"), time.Unix(1_700_000_000, 0)
	h := &Handler{metrics: &metrics{stored: s}}
	require.Empty(t, s.givesUpAt(false), "a process knows nothing before its first delivery")
	s.refuse("creem", now.Add(-time.Hour), true)
	s.refuse("creem", now, true)
	s.refuse("polar", now, true)
	s.confirm("stripe", now, now)
	const ofCreem = 30*time.Second + 35*time.Minute + 6*time.Hour
	require.Equal(t, map[string]time.Time{"creem": now.Add(ofCreem - time.Hour), "stripe": {}}, s.givesUpAt(false), "Polar documents no times")
	require.Equal(t, map[string]float64{"creem": (ofCreem - time.Hour).Seconds()}, h.GivesUp(now, false))
	require.Zero(t, h.GivesUp(now.Add(24*time.Hour), false)["creem"])
	s.refuse("creem", now.Add(-2*time.Hour), false) // perhaps a stranger's
	require.Equal(t, map[string]float64{"creem": (ofCreem - 2*time.Hour).Seconds()}, h.GivesUp(now, false))
	require.Equal(t, map[string]float64{"creem": (ofCreem - time.Hour).Seconds()}, h.GivesUp(now, true))
	s.confirm("creem", now.Add(time.Second), now.Add(time.Second))
	require.Equal(t, time.Time{}, s.givesUpAt(false)["creem"])
	require.Empty(t, h.GivesUp(now, true))
	require.Empty(t, h.GivesUp(now, false))
}

func TestACompletePullEndsThatAProviderGivesUp(t *testing.T) {
	t.Parallel()
	s, now := newStored("stripe"), time.Unix(1_700_000_000, 0)
	h := &Handler{metrics: &metrics{stored: s}}
	s.refuse("stripe", now.Add(-time.Hour), true)
	s.refuse("stripe", now, true)
	h.Pulled("stripe", now.Add(-time.Minute))
	require.Equal(t, now.Add(3*24*time.Hour), s.givesUpAt(false)["stripe"], "the one that came since may be missing")
	h.Pulled("stripe", now.Add(time.Minute))
	require.Equal(t, map[string]time.Time{"stripe": {}}, s.givesUpAt(false))
	require.Equal(t, now.Add(-time.Hour), s.all.since, "deliveries are refused all the same")
}

// The provider repeats what is answered 401, too: its secret here may be an old one.
func TestADeliveryWithAnotherSignatureCounts(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for _, a := range answers {
		m := newMetrics(prometheus.NewRegistry(), "stripe")
		m.observe(a, providers.Named("stripe"), began)
		at := m.stored.givesUpAt(false)["stripe"]
		refused := a.status == http.StatusServiceUnavailable && a != tooManyBodies || a == wrongSignature || a == wrongTime
		require.Equal(t, refused, at.Equal(began.Add(3*24*time.Hour)), "%s %s", a.name, a.reason)
		require.Equal(t, a.refusesEvent(), !m.stored.all.since.IsZero(), "%s %s", a.name, a.reason)
	}
}

func TestAValidSignatureEndsThatSignaturesAreRefused(t *testing.T) {
	t.Parallel()
	s, now := newStored("stripe", "creem"), time.Unix(1_700_000_000, 0)
	h := &Handler{metrics: &metrics{stored: s}}
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	s.refuse("stripe", at(1), false)
	s.refuse("stripe", at(2), false)
	require.Equal(t, at(1), s.of["stripe"].doubted.since)
	require.Equal(t, refusals{}, s.of["creem"].doubted)
	require.Equal(t, map[string]float64{"stripe": 59}, h.RefusesSignatures(at(60)))
	s.refuse("stripe", at(3), true)
	require.Zero(t, s.of["stripe"].doubted.since, "answered 503, but with a valid signature")
	s.refuse("stripe", at(4), false)
	s.confirm("stripe", at(5), at(5))
	require.Zero(t, s.of["stripe"].doubted.since)
	require.Empty(t, h.RefusesSignatures(at(60)))
	s.refuse("stripe", at(6), false)
	require.Equal(t, at(6), s.of["stripe"].doubted.since)
}

// Other refusals are of strangers, or not worth a second try.
func TestOnlySignedDeliveriesThatWereNotStoredCountAsRefused(t *testing.T) {
	t.Parallel()
	for _, a := range answers {
		require.Equal(t, a == notConfirmed || a == lateConfirmed || a == tooMany, a.refusesEvent(), "%s %s", a.name, a.reason)
	}
}
