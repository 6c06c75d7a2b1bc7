package projections

import (
	"cmp"
	"strings"

	"github.com/payfold/payfold/internal/events"
)

// facts is an event together with what the tables know about what it names.
type facts struct {
	events.Event

	kind    Kind   // the event's, else the known payment's or subscription's
	user    string // the event's, else the known payment's or subscription's
	payment Payment
	known   bool    // payment is in the table
	same    Payment // a row that turns out to be that payment; see findPayment

	claimed bool // the event claimed a payment, or granted something
}

// newFacts returns the state's one facts, which holds until the next event.
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

// isOfSubscription says whether the event is of a subscription, whatever it says of its kind.
func (f *facts) isOfSubscription() bool {
	return f.SubscriptionID != "" || strings.HasPrefix(f.Type, "subscription.")
}

const implicitPrefix = "implicit:"

// ImplicitSubscription is the id of the one subscription of a user whose
// provider names none.
func ImplicitSubscription(user string) string { return implicitPrefix + user }
