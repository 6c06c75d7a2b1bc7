package projections

import (
	"cmp"
	"strings"

	"github.com/payfold/payfold/internal/events"
)

// facts is an event, and what the tables know about the payment and the subscription it names.
type facts struct {
	events.Event

	kind    Kind   // of the event, otherwise of the known payment or subscription
	user    string // of the event, otherwise of the known payment or subscription
	payment Payment
	known   bool    // payment is in the table
	same    Payment // another row for the same payment; see findPayment

	claimed bool // the event claimed a payment, or granted something
}

// newFacts returns the facts of the event. They are valid until the next call.
func newFacts(s *State, e events.Event) *facts {
	f := &s.facts
	*f = facts{Event: e, kind: e.Kind, user: e.UserID}
	if !HasEffect(e.Type) {
		return f
	}
	f.payment, f.same, f.known = s.findPayment(e.Transaction, e.Order)
	if IsReversal(e.Type) {
		f.user, f.kind = f.payment.UserID, f.payment.Kind
		return f
	}
	var subscription SubscriptionState
	if e.SubscriptionID != "" {
		subscription, _ = s.Subscriptions.Get(e.SubscriptionID)
	}
	f.user = cmp.Or(f.user, f.payment.user(), subscription.UserID)
	f.kind = cmp.Or(f.kind, f.payment.Kind, subscription.SoldKind, subscription.Kind)
	if f.kind == "" && f.isOfSubscription() {
		f.kind = KindSubscription
	}
	return f
}

// isOfSubscription reports whether the event belongs to a subscription. Its kind does not matter.
func (f *facts) isOfSubscription() bool {
	return f.SubscriptionID != "" || strings.HasPrefix(f.Type, "subscription.")
}

const implicitPrefix = "implicit:"

// ImplicitSubscription returns the id of a user's subscription for events that name none.
func ImplicitSubscription(user string) string { return implicitPrefix + user }
