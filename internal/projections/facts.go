package projections

import (
	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// facts is an event, and what the tables know about the payment and the subscription it names.
type facts struct {
	events.Event

	kind    Kind    // of the event, otherwise of the known payment or subscription
	user    string  // of the event, otherwise of the known payment or subscription
	payment Payment // has no id if it is not in the table
	same    Payment // another row for the same payment; see findPayment
	foreign bool    // the event names a payment or a subscription of another provider

	units   events.Number    // how many were sold of the product
	offer   *catalogue.Offer // of a claim's product; nil if the catalogue has none
	claimed bool             // the event claimed at least one payment
}

// isOfSubscription reports whether the event belongs to a subscription. Its kind does not matter.
func (f *facts) isOfSubscription() bool { return f.SubscriptionID != "" || f.Recurring }

// claims reports whether the event says that a payment arrived, or what was sold.
func (f *facts) claims() bool { return f.Action == events.Payment || f.Action == events.Checkout }
