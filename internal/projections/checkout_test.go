package projections

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// checkouts returns the checkout of each payment that has one.
func checkouts(s *State) map[string]string {
	out := map[string]string{}
	for _, p := range s.Payments.All() {
		if p.ProviderCheckoutID != "" {
			out[p.ProviderPaymentID] = p.ProviderCheckoutID
		}
	}
	return out
}

// In every order of arrival, also for a renewal that comes first.
func TestOnlyTheFirstPaymentOfASubscriptionHasItsCheckout(t *testing.T) {
	t.Parallel()
	renewal := func(id, transaction string, minute int) events.Event {
		return events.Event{
			ID: id, Action: events.Payment, SubscriptionID: "s1", Transaction: transaction, UserID: "u1",
			Kind: KindSubscription, OccurredAt: minuteOf(minute),
		}
	}
	began := events.Event{ID: "began", Action: events.Checkout, SubscriptionID: "s1", UserID: "u1", Checkout: "c1", OccurredAt: minuteOf(5)}
	again := renewal("again", "t4", 40)
	again.Checkout = "c4"
	for name, c := range map[string]struct {
		log  []events.Event
		want map[string]string
	}{
		"with renewals": {
			[]events.Event{began, renewal("first", "t1", 1), renewal("second", "t2", 20), renewal("third", "t3", 30)},
			map[string]string{"t1": "c1"},
		},
		"a renewal that names a checkout itself": {
			[]events.Event{began, renewal("first", "t1", 1), again}, map[string]string{"t1": "c1", "t4": "c4"},
		},
		"after a trial": {
			[]events.Event{
				{
					ID: "trial", Action: events.Payment, SubscriptionID: "s1", Transaction: "t0", UserID: "u1", Trial: true,
					Checkout: "c1", Amount: number(0), OccurredAt: minuteOf(1),
				},
				renewal("first", "t1", 20), renewal("second", "t2", 30),
			},
			map[string]string{"t1": "c1"},
		},
		"no payment yet":    {[]events.Event{began}, map[string]string{}},
		"of two checkouts":  {[]events.Event{began, renewal("first", "t1", 1), {ID: "other", Action: events.Checkout, SubscriptionID: "s1", Checkout: "c0", OccurredAt: minuteOf(6)}}, map[string]string{"t1": "c1"}},
		"without checkouts": {[]events.Event{renewal("first", "t1", 1), renewal("second", "t2", 20)}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, order := range orders(len(c.log)) {
				s := foldOrder(anyMode, c.log, order)
				require.Equal(t, c.want, checkouts(s), order)
			}
		})
	}
}

// The first payment and the checkout are known, however many renewals there are.
func TestTheCheckoutOfALongSubscriptionIsKept(t *testing.T) {
	t.Parallel()
	s := NewState()
	fold := func(i int, e events.Event) {
		e.Seq, e.Provider, e.Mode, e.SubscriptionID, e.UserID = uint64(i+1), "provider", events.AnyMode, "s1", "u1"
		anyMode.Fold(s, e)
	}
	for i := range 40 {
		at := 40 - i // the newest first
		fold(i, events.Event{ID: fmt.Sprint("e", at), Action: events.Payment, Kind: KindSubscription, Transaction: fmt.Sprint("t", at), OccurredAt: minuteOf(at)})
	}
	fold(40, events.Event{ID: "began", Action: events.Checkout, Checkout: "c1", OccurredAt: minuteOf(50)})
	require.Equal(t, map[string]string{"t1": "c1"}, checkouts(s))
	fold(41, events.Event{ID: "e0", Action: events.Payment, Kind: KindSubscription, Transaction: "t0", OccurredAt: minuteOf(0)})
	require.Equal(t, map[string]string{"t0": "c1"}, checkouts(s), "an earlier payment arrives late")
	row, _ := s.Subscriptions.Get("s1")
	require.LessOrEqual(t, len(row.Facts), keptPayments+keptChanges+3)
}
