package explain

import (
	"cmp"
	"fmt"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// story is one event with what it says, and the payment and the subscription of which it says that.
type story struct {
	event        projections.ProcessedEvent
	rows         related
	payment      projections.Payment           // empty if no row has its name
	paid         *projections.Fact             // that the payment arrived; nil: the event does not say it, or it is not kept
	subscription projections.SubscriptionState // empty if no row has its name
	said         *projections.Fact             // of the subscription; nil: nothing, or it is not kept
}

func storyOf(e projections.ProcessedEvent, rows related) story {
	y := story{event: e, rows: rows, payment: rows.Payments[e.ProviderPaymentID]}
	y.subscription = rows.Subscriptions[cmp.Or(e.SubscriptionID, y.payment.SubscriptionID, e.Subscription())]
	y.paid = y.payment.Facts.First(func(f *projections.Fact) bool { return f.EventID == e.EventID && f.Says == projections.Paid })
	y.said = y.subscription.Facts.First(func(f *projections.Fact) bool { return f.EventID == e.EventID && f.Says != projections.Named })
	return y
}

func (y story) isPayment() bool { return y.event.Action == string(events.Payment) }

func (y story) named() bool { return y.payment.ProviderPaymentID != "" }

// namer returns the fact that names the user of the payment: the first of its own events that names one, otherwise the
// first of its subscription; nil if it is not kept.
func (y story) namer() *projections.Fact {
	names := func(f *projections.Fact) bool { return f.User != "" }
	if own := y.payment.Facts.First(func(f *projections.Fact) bool { return f.Says == projections.Paid && names(f) }); own != nil {
		return own
	}
	return y.rows.Subscriptions[y.payment.SubscriptionID].Facts.First(names)
}

// nameAndTime names an event with the provider's time.
func nameAndTime(f *projections.Fact) string {
	return fmt.Sprintf("%s (%s)", page.Name(f.EventID), at(f.At))
}

// NotClaimed says why nobody has claimed a payment; who is what the reader calls a user.
func NotClaimed(p projections.Payment, who string) string {
	switch user := p.Facts.First(func(f *projections.Fact) bool { return f.User != "" }); {
	case !p.Paid:
		return "no event says that it was paid"
	case !p.Known && p.ProductKey != "" && p.Kind == "":
		return "the catalogue does not have its product, " + page.Name(p.ProductKey)
	case !p.Known && p.Kind == projections.KindOneTime:
		return "no event says how many credits were sold"
	case !p.Known:
		return "no event says what was sold"
	case user == nil:
		return "no event names its " + who
	}
	return "the balance of its " + who + " cannot hold what it grants"
}
