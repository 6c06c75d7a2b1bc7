package projections

import (
	"strings"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// facts is an event, and what the tables know about the payment and the subscription it names.
type facts struct {
	events.Event

	effect  effect  // of the event's type; empty if it has none
	kind    Kind    // of the event, otherwise of the known payment or subscription
	user    string  // of the event, otherwise of the known payment or subscription
	payment Payment // has no id if it is not in the table
	same    Payment // another row for the same payment; see findPayment

	offer   *catalogue.Offer // of a claim's product; nil if the catalogue has none
	claimed bool             // the event claimed at least one payment
}

// isOfSubscription reports whether the event belongs to a subscription. Its kind does not matter.
func (f *facts) isOfSubscription() bool {
	return f.SubscriptionID != "" || strings.HasPrefix(f.Type, "subscription.")
}

// StartsSubscription reports whether the event is a checkout that starts a subscription and
// names no transaction. The subscription.paid that follows names the transaction. So the checkout
// claims nothing. What was bought is kept with the subscription, for all of its payments.
func StartsSubscription(e *events.Event) bool {
	return e.Type == "checkout.completed" && e.SubscriptionID != "" && e.Transaction == ""
}
