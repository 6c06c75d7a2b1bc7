package projections

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// renewal returns the paid event of that month of a subscription of u1.
func renewal(month int, subscription string) string {
	return fmt.Sprintf(`{"id":"paid%[1]d-%[2]s","eventType":"subscription.paid","created_at":%[3]d,"object":{"id":%[2]q,
		"last_transaction_id":"t%[1]d-%[2]s","metadata":{"user_id":"u1","credits":10},
		"current_period_start_date":"2026-%02[1]d-05T00:00:00Z","current_period_end_date":"2026-%02[4]d-05T00:00:00Z"}}`,
		month, subscription, startOf(month).UnixMilli(), month+1)
}

func startOf(month int) time.Time { return time.Date(2026, time.Month(month), 5, 0, 0, 0, 0, time.UTC) }

func TestEachRenewalGrantsAndMovesThePeriod(t *testing.T) {
	t.Parallel()
	s := NewState()
	for month := 1; month <= 3; month++ {
		foldInto(t, s, anyMode, renewal(month, "s1"))
		shown, _ := s.Current.Get("u1")
		require.Equal(t, []time.Time{startOf(month), startOf(month + 1)}, []time.Time{shown.CurrentPeriodStart, shown.CurrentPeriodEnd})
		require.Equal(t, fmt.Sprintf("t%d-s1", month), shown.ProviderPaymentID)
		require.Equal(t, "applied", outcomes(s)[fmt.Sprintf("paid%d-s1", month)])
	}
	require.Len(t, grants(s), 3)
	require.Len(t, s.Payments.Inserted(), 3)
}

func TestALateRenewalGrantsAndDoesNotMoveThePeriodBack(t *testing.T) {
	t.Parallel()
	s := fold(t, renewal(2, "s1"))
	before, _ := s.Current.Get("u1")
	foldInto(t, s, anyMode, renewal(1, "s1"))
	after, _ := s.Current.Get("u1")
	require.Equal(t, map[string]string{"paid2-s1": "applied", "paid1-s1": "applied"}, outcomes(s))
	require.Equal(t, []string{"paid2-s1 gives u1 10 subscription for t2-s1", "paid1-s1 gives u1 10 subscription for t1-s1"}, grants(s))
	require.Equal(t, before, after)
	state, _ := s.Subscriptions.Get("s1")
	require.Equal(t, startOf(1), state.StartedAt, "but it has started earlier than was known")
}

// The provider begins the next period although the payment of the last one has failed. That one is paid later.
func TestALatePaymentOfAnEarlierPeriodSaysNothingOfThePresentOne(t *testing.T) {
	t.Parallel()
	lateBy := func(minutes int, body string) string {
		later := startOf(2).Add(time.Duration(minutes) * time.Minute)
		return strings.Replace(body, fmt.Sprint(startOf(1).UnixMilli()), fmt.Sprint(later.UnixMilli()), 1)
	}
	pastDue := fmt.Sprintf(`{"id":"e1","eventType":"subscription.past_due","created_at":%d,"object":{"id":"s1","metadata":{"user_id":"u1"},
		"current_period_start_date":"2026-02-05T00:00:00Z","current_period_end_date":"2026-03-05T00:00:00Z"}}`, startOf(2).UnixMilli())
	for status, before := range map[string]string{"active": renewal(2, "s1"), "past_due": pastDue} {
		for _, log := range permutations([]string{before, lateBy(1, renewal(1, "s1"))}) {
			s := fold(t, log...)
			shown, _ := s.Current.Get("u1")
			require.Equal(t, []any{status, startOf(2), startOf(3)}, []any{shown.Status, shown.CurrentPeriodStart, shown.CurrentPeriodEnd})
			require.Contains(t, leftOf(s), "u1 subscription", "it grants")
		}
	}
	paidNow := strings.Replace(renewal(2, "s1"), fmt.Sprint(startOf(2).UnixMilli()), fmt.Sprint(startOf(2).Add(time.Hour).UnixMilli()), 1)
	shown, _ := fold(t, pastDue, paidNow).Current.Get("u1")
	require.Equal(t, events.Active, shown.Status, "the payment of the present period")
}

func TestAStaleEventFillsEmptyFields(t *testing.T) {
	t.Parallel()
	s := fold(t, at(2, checkout("e1", `"subscription":"s1","metadata":{"kind":"subscription","user_id":"u1"}`)),
		at(1, paid("e2", `"id":"s1","product":"p1","last_transaction_id":"t1","current_period_start":1767348000000,"current_period_end":1770026400000`)))
	require.Equal(t, "applied", outcomes(s)["e2"], "it claimed its payment")
	require.Equal(t, []string{"subscription user_id=u1 subscription_id=s1 product_key=p1 status=active current_period_start=01-02T10:00:00Z " +
		"current_period_end=02-02T10:00:00Z provider_payment_id=t1 occurred_at=01-02T10:02:00Z event_id=e1 stream_seq=1"},
		lines("subscription", s.Current.Inserted()))
}

func TestAnEventWithoutAPeriodDoesNotChangeIt(t *testing.T) {
	t.Parallel()
	s := fold(t, renewal(1, "s1"), paid("e2", `"id":"s1","last_transaction_id":"t2","metadata":{"user_id":"u1"}`))
	shown, _ := s.Current.Get("u1")
	require.Equal(t, []any{"t2", startOf(2)}, []any{shown.ProviderPaymentID, shown.CurrentPeriodEnd})
}

func TestOfTwoEventsAtTheSameTimeTheLastInTheAlphabetCounts(t *testing.T) {
	t.Parallel()
	one := at(1, paid("e1", `"id":"s1","product":"p1","last_transaction_id":"t1","metadata":{"user_id":"u1"}`))
	two := at(1, paid("e2", `"id":"s1","product":"p2","last_transaction_id":"t2","metadata":{"user_id":"u1"}`))
	for _, log := range [][]string{{one, two}, {two, one}} {
		s := fold(t, log...)
		require.Equal(t, map[string]string{"e1": "applied", "e2": "applied"}, outcomes(s))
		shown, _ := s.Current.Get("u1")
		require.Equal(t, []string{"p2", "t2"}, []string{shown.ProductKey, shown.ProviderPaymentID})
	}
}

// The events of a first payment come in any order. The one that has the period may be a
// duplicate payment; its period must not be lost.
func TestADuplicatePaymentStillSetsThePeriod(t *testing.T) {
	t.Parallel()
	bought := at(0, checkout("e1", `"provider_payment_id":"t1-s1","subscription":"s1","metadata":{"kind":"subscription","user_id":"u1","credits":10}`))
	s := fold(t, bought, renewal(1, "s1"))
	require.Equal(t, map[string]string{"e1": "applied", "paid1-s1": "duplicate_payment"}, outcomes(s))
	shown, _ := s.Current.Get("u1")
	require.Equal(t, startOf(2), shown.CurrentPeriodEnd)

	s = fold(t, renewal(1, "s1"), bought)
	require.Equal(t, "duplicate_payment", outcomes(s)["e1"], "not stale, though it is older")
	shown, _ = s.Current.Get("u1")
	require.Equal(t, startOf(2), shown.CurrentPeriodEnd)
	require.Len(t, grants(s), 1)
}

func TestTheSubscriptionThatStartedLastIsShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  []string
		want string
	}{
		"started later":                 {[]string{renewal(1, "s1"), renewal(2, "s2")}, "s2"},
		"even if it is known first":     {[]string{renewal(2, "s2"), renewal(1, "s1")}, "s2"},
		"a renewal does not start it":   {[]string{renewal(1, "s1"), renewal(2, "s2"), renewal(3, "s1")}, "s2"},
		"at once: last in the alphabet": {[]string{renewal(1, "s2"), renewal(1, "s1")}, "s2"},
	} {
		shown, _ := fold(t, c.log...).Current.Get("u1")
		require.Equal(t, c.want, shown.SubscriptionID, name)
	}
	s := NewState()
	s.LoadSubscription(&SubscriptionState{SubscriptionID: "ended", UserID: "u1", Status: "expired", StartedAt: startOf(6), OccurredAt: startOf(6)})
	shown, _ := foldInto(t, s, anyMode, renewal(1, "s1")).Current.Get("u1")
	require.Equal(t, "s1", shown.SubscriptionID, "a live one before an ended one")
}
