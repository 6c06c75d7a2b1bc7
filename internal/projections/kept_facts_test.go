package projections

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
)

// A subscription keeps the same facts in every order of arrival, however many there are.
func TestWhatASubscriptionKeepsDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		all := make(Facts, rapid.IntRange(1, 30).Draw(r, "facts"))
		for i := range all {
			all[i] = drawFact(r, fmt.Sprintf("e%02d", i))
		}
		var arrived Facts
		for _, f := range rapid.Permutation(all).Draw(r, "order") {
			arrived = arrived.with(f).ofSubscription(nil)
		}
		slices.SortFunc(all, inOrder)
		kept := all.ofSubscription(nil)
		if !slices.Equal(kept, arrived) {
			r.Fatalf("of %s\nkept are %s\nand in that order of arrival %s", all, kept, arrived)
		}
	})
}

func drawFact(r *rapid.T, event string) *Fact {
	day := func(name string) time.Time { return startOf(1).AddDate(0, 0, rapid.IntRange(1, 40).Draw(r, name)) }
	f := &Fact{EventID: event, At: day("at"), Says: rapid.SampledFrom([]Says{Paid, Paid, Status, Status, Sold, Named}).Draw(r, "says")}
	f.User = rapid.SampledFrom([]string{"", "u1", "u2", "u3"}).Draw(r, "user")
	f.Kind = rapid.SampledFrom([]Kind{"", KindPro, KindSubscription}).Draw(r, "kind")
	if f.Says == Status || f.Says == Paid {
		f.Status = rapid.SampledFrom([]string{"", "", events.Active, events.Trialing, events.PastDue, events.Canceled}).Draw(r, "status")
	}
	if f.Says != Named {
		f.Product = rapid.SampledFrom([]string{"", "small", "big"}).Draw(r, "product")
		f.Units = int64(rapid.IntRange(1, 12).Draw(r, "units"))
	}
	if f.Says != Named && rapid.Bool().Draw(r, "has a period") {
		f.From, f.Until = f.At, day("until")
	}
	switch f.Says {
	case Paid:
		f.Prorated = rapid.Bool().Draw(r, "prorated")
	case Status:
		f.Begins = rapid.Bool().Draw(r, "begins")
		if rapid.Bool().Draw(r, "extends") {
			f.Extended = day("extended")
		}
	}
	return f
}

// A late payment is for what its subscription sold then, however many changes came since.
func TestALatePaymentIsForWhatItsSubscriptionSoldThen(t *testing.T) {
	t.Parallel()
	w := soldInLives()
	sells := func(day int, action events.Action, product string) {
		e := status("s1", events.Active)
		e.Action, e.Product = action, product
		w.put(dayOf(day), e)
	}
	sells(5, events.Checkout, "small")
	sells(20, events.Subscription, "big")
	for day := 21; day < 21+3*keptChanges; day++ {
		sells(day, events.Subscription, "big")
	}
	w.put(dayOf(20), of(1, "t", events.Event{Action: events.Payment, SubscriptionID: "s1", Recurring: true, UserID: "u1", Amount: number(900)}))
	var order []int
	for i := range w.shapes {
		order = append(order, i)
	}
	late := w.fold(order)
	first := w.fold(slices.Concat(order[len(order)-1:], order[:len(order)-1]))
	require.Equal(t, map[string]int64{"u1 subscription": 500}, leftOf(first))
	require.Equal(t, leftOf(first), leftOf(late))
}
