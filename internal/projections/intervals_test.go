package projections

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// stripeDay is a day of 2026, as Stripe writes it.
func stripeDay(month time.Month, day int) int64 {
	return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC).Unix()
}

// stripeLine is a line of an invoice, or an item of a subscription.
func stripeLine(price string, amount int, prorated bool, from, until int64) string {
	return fmt.Sprintf(`{"amount":%d,"quantity":1,"parent":{"subscription_item_details":{"proration":%v}},
		"pricing":{"price_details":{"price":%q,"product":"prod_%[3]s"}},"period":{"start":%[4]d,"end":%[5]d}}`, amount, prorated, price, from, until)
}

func stripeItem(price string, from, until int64) string {
	return fmt.Sprintf(`{"quantity":1,"price":{"id":%q,"product":"prod_%[1]s"},"current_period_start":%d,"current_period_end":%d}`, price, from, until)
}

func stripeInvoiceOf(at int64, id, reason string, lines ...string) [2]string {
	return [2]string{"stripe", fmt.Sprintf(`{"id":"evt_%[2]s","type":"invoice.paid","created":%[1]d,"data":{"object":{"id":%[2]q,"status":"paid","created":%[1]d,
		"billing_reason":%[3]q,"subtotal":900,"amount_paid":900,"currency":"eur","parent":{"subscription_details":{"subscription":"sub_1","metadata":{"user_id":"u1"}}},
		"lines":{"data":[%[4]s]}}}}`, at, id, reason, strings.Join(lines, ","))}
}

func stripeStatus(at int64, word, status string, items ...string) [2]string {
	return [2]string{"stripe", fmt.Sprintf(`{"id":"evt_%s_%d","type":"customer.subscription.%[1]s","created":%[2]d,"data":{"object":{"id":"sub_1","status":%[3]q,
		"metadata":{"user_id":"u1"},"items":{"data":[%[4]s]}}}}`, word, at, status, strings.Join(items, ","))}
}

// Stripe bills the items of one subscription in intervals of their own, and each has a period of its own. That of the plan
// counts: what was paid for a year of something else does not pay for the plan.
func TestThePeriodIsThatOfTheItemThatIsTheProduct(t *testing.T) {
	t.Parallel()
	jan, feb, mar, year := stripeDay(1, 1), stripeDay(2, 1), stripeDay(3, 1), stripeDay(13, 1)
	support, change := stripeItem("support", jan, year), stripeDay(1, 15)
	log := [][2]string{
		stripeStatus(jan, "created", "active", support, stripeItem("plan", jan, feb)),
		stripeInvoiceOf(jan+1, "in_1", "subscription_create", stripeLine("support", 9900, false, jan, year), stripeLine("plan", 900, false, jan, feb)),
		stripeInvoiceOf(change, "in_2", "subscription_update", stripeLine("plan", -450, true, change, feb), stripeLine("big", 950, true, change, feb)),
		stripeStatus(feb, "updated", "past_due", support, stripeItem("big", feb, mar)),
		stripeStatus(feb+86_400, "deleted", "canceled", support, stripeItem("big", feb, mar)),
	}
	for _, more := range []string{"", "  support: {kind: none}\n"} {
		rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100}\n  big: {kind: subscription, credits: 500}\n" + more)}
		for _, order := range orders(len(log)) {
			var arrived [][2]string
			for _, i := range order {
				arrived = append(arrived, log[i])
			}
			s := by(t, rules, arrived...)
			require.Equal(t, map[string]int64{"u1 subscription": 500}, leftOf(s), order)
			row, _ := s.Subscriptions.Get("sub_1")
			require.Equal(t, []any{events.Canceled, "big", time.Unix(mar, 0).UTC(), time.Unix(feb, 0).UTC()},
				[]any{row.Status, row.ProductKey, row.CurrentPeriodEnd, row.CountsUntil}, order)
		}
	}
}

// Which item is the product is known only when the event is folded. So the payments of all periods that it names are loaded.
func TestThePaymentsOfThePeriodsOfAllItemsAreLoaded(t *testing.T) {
	t.Parallel()
	e := events.Event{SubscriptionID: "s1", PeriodEnd: startOf(7), Items: []events.Item{{PeriodEnd: startOf(7)}, {}, {PeriodEnd: startOf(2)}}}
	subscriptions, ends := NewState().Periods([]events.Event{e})
	require.Equal(t, []string{"s1", "s1"}, subscriptions)
	require.Equal(t, []time.Time{startOf(7), startOf(2)}, ends)
}

// An invoice can have several changes of the plan: those that waited for it, and the one that made it. It pays for the plan
// after all of them, also if the plans between were for a longer time and so cost more.
func TestOfSeveralChangesOfThePlanInOneInvoiceTheLastCounts(t *testing.T) {
	t.Parallel()
	begin, first, second, end := stripeDay(1, 1), stripeDay(1, 3), stripeDay(1, 29), stripeDay(2, 1)
	line := func(price string, amount int, from int64) string { return stripeLine(price, amount, true, from, end) }
	log := [][2]string{
		stripeInvoiceOf(begin, "in_1", "subscription_create", stripeLine("small", 900, false, begin, end)),
		stripeInvoiceOf(second, "in_2", "subscription_update", line("small", -840, first), line("middle", 4200, first),
			line("middle", -450, second), line("big", 600, second)),
	}
	for _, credits := range []string{", credits: 100", ""} { // or only access
		rules := Rules{Mode: ModeAny, Catalogue: catalogueOf(strings.ReplaceAll("version: 1\nproducts:\n  small: {kind: subscription*}\n"+
			"  middle: {kind: subscription*}\n  big: {kind: subscription*}\n", "*", credits))}
		if credits != "" {
			rules.Catalogue.Offer("middle", receivedAt).Credits, rules.Catalogue.Offer("big", receivedAt).Credits = 400, 500
		}
		for _, order := range orders(len(log)) {
			s := by(t, rules, log[order[0]], log[order[1]])
			row, _ := s.Subscriptions.Get("sub_1")
			require.Equal(t, "big", row.ProductKey, order)
			want := map[string]int64{"u1 subscription": 500}
			if credits == "" {
				want = map[string]int64{}
			}
			require.Equal(t, want, leftOf(s), order)
		}
	}
}
