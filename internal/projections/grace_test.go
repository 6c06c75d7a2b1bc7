package projections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
)

// The days of grace are those of the product that the subscription shows, in the offer of the moment that decided its
// status.
func TestASubscriptionHasTheGraceOfItsProduct(t *testing.T) {
	t.Parallel()
	sold, err := catalogue.Parse([]byte(`
version: 1
products:
  plain: {kind: subscription}
  patient: [{kind: subscription, grace_days: 3}, {from: "2026-01-02T10:05:00Z", kind: subscription, grace_days: 7}]
  tool: {kind: pro, lasts: subscription, grace_days: 5}
`))
	require.NoError(t, err)
	rules := Rules{Mode: ModeAny, Catalogue: sold}
	about := func(minute int, eventType, id, subscription, product string) string {
		return at(minute, ofType(eventType, id, `"id":"`+subscription+`","object":"subscription","product":"`+product+
			`","last_transaction_id":"t_`+id+`","metadata":{"user_id":"u_`+subscription+`"}`))
	}
	bodies := []string{
		about(1, "subscription.paid", "e1", "s_plain", "plain"),
		about(1, "subscription.paid", "e2", "s_early", "patient"),
		about(1, "subscription.paid", "e3", "s_late", "patient"),
		about(6, "subscription.past_due", "e4", "s_late", "patient"),
		about(1, "subscription.paid", "e5", "s_tool", "tool"),
		about(1, "subscription.paid", "e6", "s_changed", "plain"),
		about(2, "subscription.update", "e7", "s_changed", "patient"),
		about(1, "subscription.paid", "e8", "s_unknown", "nothing"),
	}
	for _, order := range [][]int{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 0}} {
		s := NewState()
		for _, i := range order {
			foldInto(t, s, rules, bodies[i])
		}
		days := map[string]int64{}
		for _, one := range s.Subscriptions.Rows() {
			days[one.SubscriptionID] = one.GraceDays
		}
		require.Equal(t, map[string]int64{
			"s_plain": 0, "s_early": 3, "s_late": 7, "s_tool": 5, "s_changed": 3, "s_unknown": 0,
		}, days)
	}
	for _, one := range foldInto(t, NewState(), anyMode, bodies...).Subscriptions.Rows() {
		require.Zero(t, one.GraceDays, "without a catalogue")
	}
}
