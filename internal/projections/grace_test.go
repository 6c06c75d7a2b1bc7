package projections

import (
	"slices"
	"strings"
	"testing"
	"time"

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
			`","last_transaction_id":"t_`+id+`","current_period_end_date":"2026-02-01T00:00:00Z","metadata":{"user_id":"u_`+subscription+`"}`))
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
		days := map[string]int{}
		for _, one := range s.Subscriptions.All() {
			days[one.SubscriptionID] = int(one.CountsUntil.Sub(one.CurrentPeriodEnd) / (24 * time.Hour))
		}
		require.Equal(t, map[string]int{
			"s_plain": 0, "s_early": 3, "s_late": 7, "s_tool": 5, "s_changed": 3, "s_unknown": 0,
		}, days)
	}
	for _, one := range foldInto(t, NewState(), anyMode, bodies...).Subscriptions.All() {
		require.Equal(t, one.CurrentPeriodEnd, one.CountsUntil, "without a catalogue")
	}
}

// Some providers begin the next period although its payment has failed. Nobody has paid for that period.
func TestAnUnpaidSubscriptionCountsUntilTheEndOfWhatIsPaid(t *testing.T) {
	t.Parallel()
	// A month of s1 that begins in that month, and a payment on that day, which says its period or not.
	pays := func(id, day string, month int) [2]string {
		paid := monthly(id, day, "paid", month)
		paid[1] = strings.Replace(paid[1], `"id":"s1"`, `"id":"s1","last_transaction_id":"t_`+id+`"`, 1)
		return paid
	}
	bare := func(id, day string) [2]string {
		return own(id, "payment", `"time":"`+day+`T00:00:00Z","payment":"t_`+id+`","subscription":"s1","user":"u1","kind":"subscription"`)
	}
	longer := func(word string) [2]string { // the month of January, which ends later now
		moved := monthly(word, "2026-01-20", word, 1)
		moved[1] = strings.Replace(moved[1], "2026-02-01", "2026-02-15", 1)
		return moved
	}
	unpaid, canceled := monthly("due", "2026-02-02", "past_due", 2), monthly("end", "2026-02-10", "canceled", 2)
	for name, c := range map[string]struct {
		log  [][2]string
		want string
	}{
		"the next period has begun":                      {[][2]string{pays("e1", "2026-01-01", 1), unpaid}, "2026-02-01"},
		"it is paid in the end":                          {[][2]string{pays("e1", "2026-01-01", 1), unpaid, pays("e2", "2026-02-05", 2)}, "2026-03-01"},
		"it was paid, and something else is not":         {[][2]string{pays("e1", "2026-02-01", 2), unpaid}, "2026-03-01"},
		"after a trial":                                  {[][2]string{monthly("e1", "2026-01-01", "trialing", 1), unpaid}, "2026-02-01"},
		"a payment before, without period":               {[][2]string{bare("e1", "2026-01-01"), unpaid}, "2026-02-01"},
		"a payment in it, without period":                {[][2]string{bare("e1", "2026-02-01"), unpaid}, "2026-03-01"},
		"a payment a moment before it":                   {[][2]string{bare("e1", "2026-01-31"), bare("e2", "2026-01-01"), unpaid}, "2026-02-01"},
		"the shop has extended it":                       {[][2]string{pays("e1", "2026-01-01", 1), unpaid, extend("x1", "2026-04-01")}, "2026-04-01"},
		"its end was moved after it was paid":            {[][2]string{pays("e1", "2026-01-01", 1), longer("past_due")}, "2026-02-01"},
		"its end was moved, and it is canceled unpaid":   {[][2]string{pays("e1", "2026-01-01", 1), longer("unpaid"), longer("canceled")}, "2026-02-01"},
		"it is canceled unpaid":                          {[][2]string{pays("e1", "2026-01-01", 1), unpaid, canceled}, "2026-02-01"},
		"it is canceled unpaid after a trial":            {[][2]string{monthly("e1", "2026-01-01", "trialing", 1), unpaid, canceled}, "2026-02-01"},
		"it is canceled after it was paid in the end":    {[][2]string{pays("e1", "2026-01-01", 1), unpaid, pays("e2", "2026-02-05", 2), canceled}, "2026-03-01"},
		"it is canceled, and the payment came elsewhere": {[][2]string{unpaid, monthly("again", "2026-02-04", "active", 2), canceled}, "2026-03-01"},
		"it is canceled, and no payment has failed":      {[][2]string{monthly("e1", "2026-01-01", "active", 1), canceled}, "2026-03-01"},
		"it is canceled, and an earlier one had failed":  {[][2]string{monthly("e1", "2026-01-02", "past_due", 1), pays("e2", "2026-01-05", 1), canceled}, "2026-03-01"},
		"it is canceled unpaid, and the shop extends it": {[][2]string{unpaid, canceled, extend("x1", "2026-04-01")}, "2026-04-01"},
		"no period is known": {
			[][2]string{specified(at(1, ofType("subscription.past_due", "e1", `"id":"s1","metadata":{"user_id":"u1"}`)))}, "2026-01-02",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, log := range [][][2]string{c.log, backwards(c.log)} {
				state, _ := by(t, anyMode, log...).Subscriptions.Get("s1")
				require.Equal(t, c.want, state.CountsUntil.Format(time.DateOnly))
			}
		})
	}
}

func backwards(log [][2]string) [][2]string {
	out := slices.Clone(log)
	slices.Reverse(out)
	return out
}
