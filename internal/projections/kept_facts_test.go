package projections

import (
	"fmt"
	"slices"
	"testing"
	"time"

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
			arrived = arrived.with(f).ofSubscription()
		}
		slices.SortFunc(all, inOrder)
		kept := all.ofSubscription()
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
