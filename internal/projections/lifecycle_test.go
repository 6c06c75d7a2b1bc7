package projections

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	ofS1     = `"id":"s1","metadata":{"user_id":"u1"}`
	paidOfS1 = `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1"}`
)

func statusAfter(t *testing.T, bodies ...string) string {
	t.Helper()
	row, _ := fold(t, bodies...).Subscriptions.Get("s1")
	return row.Status
}

func TestTheEventTypeIsTheStatus(t *testing.T) {
	t.Parallel()
	for eventType, want := range map[string]string{
		"active": "active", "trialing": "trialing", "canceled": "canceled", "scheduled_cancel": "scheduled_cancel",
		"past_due": "past_due", "paused": "paused", "unpaid": "unpaid", "expired": "expired",
	} {
		require.Equal(t, want, statusAfter(t, ofType("subscription."+eventType, "e1", ofS1+`,"status":"active"`)))
	}
	require.Equal(t, "trialing", statusAfter(t, ofType("subscription.update", "e1", ofS1+`,"status":"trialing"`)))
	require.Empty(t, statusAfter(t, ofType("subscription.update", "e1", ofS1)))
	require.Equal(t, "past_due", statusAfter(t, ofType("subscription.past_due", "e1", ofS1), ofType("subscription.update", "e2", ofS1)))
}

// The status of an update is the provider's text. Two of the words are also payfold's own.
func TestASubscriptionKeepsItsUserWhateverItsStatusSays(t *testing.T) {
	t.Parallel()
	started := at(1, checkout("e1", `"order":{"id":"o1"},"subscription":"s1","metadata":{"kind":"subscription","user_id":"u1","credits":9}`))
	late, renewed := at(3, ofType("subscription.past_due", "e3", `"id":"s1"`)), at(4, paid("e4", `"id":"s1","last_transaction_id":"t1"`))
	for _, status := range []string{"merged", "unknown", "Merged", "implicit:u1", "Ünbekannt \u0001"} {
		s := fold(t, started, at(2, ofType("subscription.update", "e2", `"id":"s1","status":"`+status+`"`)), late, renewed)
		require.Equal(t, []string{"e4 gives u1 9 subscription for t1"}, grants(s), status)
		row, _ := s.Subscriptions.Get("s1")
		require.Equal(t, []any{"u1", minuteOf(1), "active"}, []any{row.UserID, row.StartedAt, row.Status}, status)
	}
}

func TestAnUpdateThatSaysUnknownSaysNoStatus(t *testing.T) {
	t.Parallel()
	unknown := at(2, ofType("subscription.update", "e2", ofS1+`,"status":"unknown"`))
	require.Empty(t, statusAfter(t, unknown))
	require.Empty(t, fold(t, unknown).Current.All(), "nothing is shown")
	require.Equal(t, "active", statusAfter(t, unknown, at(1, ofType("subscription.active", "e1", ofS1))))
	require.Equal(t, "active", statusAfter(t, at(1, ofType("subscription.active", "e1", ofS1)), unknown))
}

func TestASubscriptionThatTheProviderCallsMergedIsShownSo(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"id":"s1",`, ""} {
		s := fold(t, at(1, ofType("subscription.active", "e1", id+`"metadata":{"user_id":"u1"}`)),
			at(2, ofType("subscription.update", "e2", id+`"status":"merged","metadata":{"user_id":"u1"}`)))
		shown, _ := s.Current.Get("u1")
		require.Equal(t, "merged", shown.Status)
	}
}

func TestTheProvidersTimeDecidesTheStatus(t *testing.T) {
	t.Parallel()
	pastDue, active := at(2, ofType("subscription.past_due", "e2", ofS1)), at(1, ofType("subscription.active", "e1", ofS1))
	s := fold(t, pastDue, active)
	require.Equal(t, map[string]string{"e1": "stale", "e2": "applied"}, outcomes(s))
	row, _ := s.Subscriptions.Get("s1")
	require.Equal(t, "past_due", row.Status)
	require.Equal(t, minuteOf(1), row.StartedAt)
}

// The status that comes later in the life of a subscription counts, then the event that is last in the alphabet.
func TestOfTwoStatusesAtTheSameTimeTheOneThatIsFurtherOnCounts(t *testing.T) {
	t.Parallel()
	life := []string{"incomplete", "trialing", "active", "past_due", "unpaid", "paused", "scheduled_cancel", "expired", "canceled"}
	for i, later := range life {
		for _, earlier := range life[:i] {
			update := func(id, status string) string {
				return at(1, ofType("subscription.update", id, ofS1+`,"status":"`+status+`"`))
			}
			log := []string{update("e2", earlier), update("e1", later)}
			inEveryOrder(t, anyMode, log, func(s *State, order []int) {
				row, _ := s.Subscriptions.Get("s1")
				require.Equal(t, []string{later, "e1"}, []string{row.Status, row.EventID}, "%s %s %v", earlier, later, order)
			})
		}
	}
	one := at(1, ofType("subscription.past_due", "e1", ofS1))
	inEveryOrder(t, anyMode, []string{one, strings.Replace(one, "e1", "e2", 1)}, func(s *State, order []int) {
		row, _ := s.Subscriptions.Get("s1")
		require.Equal(t, "e2", row.EventID, order)
	})
}

func TestACancellationIsFinal(t *testing.T) {
	t.Parallel()
	canceled := at(3, ofType("subscription.canceled", "cancel", ofS1+`,"canceled_at":"2026-01-02T10:02:30Z"`))
	late := at(5, paid("paid", paidOfS1+`,"credits":9`))
	for name, bodies := range map[string][]string{"it comes first": {canceled, late}, "it comes last": {late, canceled}} {
		s := fold(t, bodies...)
		row, _ := s.Subscriptions.Get("s1")
		require.Equal(t, "canceled", row.Status, name)
		require.Equal(t, "02:30", row.CanceledAt.Format("04:05"), name)
		require.Equal(t, "cancel", row.EventID, name)
		require.Equal(t, []string{"paid gives u1 9 subscription for t1"}, grants(s), "a late payment still grants")
	}
	require.Equal(t, "applied", outcomes(fold(t, canceled, late))["paid"], "it granted")
	require.Equal(t, "active", statusAfter(t, at(1, ofType("subscription.expired", "e1", ofS1)), at(2, paid("e2", paidOfS1))),
		"a payment revives an expired subscription")
}

func TestLifecycleEventsNeverClaimTheOldPaymentThatTheyName(t *testing.T) {
	t.Parallel()
	s := fold(t, at(1, ofType("subscription.past_due", "e1", paidOfS1+`,"credits":9`)), at(2, ofType("subscription.active", "e2", paidOfS1+`,"credits":9`)))
	require.Empty(t, grants(s))
	payment, _ := s.Payments.Get("t1")
	require.Equal(t, []string{"s1", "", ""}, []string{payment.SubscriptionID, payment.UserID, payment.Kind}, "only the subscription is recorded")
	require.Equal(t, map[string]string{"e1": "applied", "e2": "applied"}, outcomes(s))
}

func TestLifecycleEventsOfOtherKindsAreIgnored(t *testing.T) {
	t.Parallel()
	s := fold(t,
		ofType("subscription.active", "e1", `"id":"s1","metadata":{"user_id":"u1","kind":"pro"}`),
		ofType("subscription.active", "e2", `"id":"s1","metadata":{"user_id":"u1","kind":"gift"}`),
		ofType("subscription.active", "e3", `"object":"subscription"`))
	require.Equal(t, map[string]string{"e1": "ignored", "e2": "rejected unknown_kind", "e3": "rejected missing_user"}, outcomes(s))
	require.Empty(t, s.Current.Inserted())
}

func TestALiveSubscriptionIsShownBeforeAnEndedOne(t *testing.T) {
	t.Parallel()
	first := at(1, paid("e1", `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1"}`))
	upgrade := at(2, paid("e2", `"id":"s2","last_transaction_id":"t2","metadata":{"user_id":"u1"}`))
	shown := func(bodies ...string) string {
		row, _ := fold(t, bodies...).Current.Get("u1")
		return row.SubscriptionID
	}
	require.Equal(t, "s2", shown(first, upgrade))
	require.Equal(t, "s2", shown(upgrade, first), "the one that started last, not the last event")
	require.Equal(t, "s2", shown(first, upgrade, at(3, ofType("subscription.canceled", "e3", `"id":"s1"`))))
	require.Equal(t, "s1", shown(first, upgrade, at(3, ofType("subscription.canceled", "e3", `"id":"s2"`))))
}

func TestASubscriptionWithoutAUserIsShownWhenItsUserIsKnown(t *testing.T) {
	t.Parallel()
	s := fold(t,
		at(1, ofType("subscription.active", "e1", `"id":"s1"`)),
		at(2, ofType("subscription.past_due", "e2", `"id":"s1"`)))
	require.Empty(t, s.Current.Inserted())
	s = foldInto(t, s, anyMode, at(0, ofType("subscription.trialing", "e3", ofS1)))
	row, known := s.Current.Get("u1")
	require.True(t, known)
	require.Equal(t, "past_due", row.Status)
}

func TestASubscriptionKeepsItsFirstUser(t *testing.T) {
	t.Parallel()
	s := fold(t, ofType("subscription.active", "e1", ofS1), ofType("subscription.past_due", "e2", `"id":"s1","metadata":{"user_id":"u2"}`))
	row, _ := s.Subscriptions.Get("s1")
	require.Equal(t, "u1", row.UserID)
	require.Equal(t, "past_due", row.Status)
}
