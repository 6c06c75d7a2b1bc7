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
	user    string // the event's, else the known subscription's or payment's
	payment Payment
	known   bool // payment is in the table
}

// newFacts returns the state's one facts, which holds until the next event.
func newFacts(s *State, e events.Event) *facts {
	f := &s.facts
	*f = facts{Event: e, kind: e.Kind, user: e.UserID}
	if !HasEffect(e.Type) {
		return f
	}
	f.payment, f.known = s.findPayment(e.Transaction, e.Order)
	subscription, knownSubscription := SubscriptionState{}, false
	if e.SubscriptionID != "" {
		subscription, knownSubscription = s.Subscriptions.Get(e.SubscriptionID)
	}
	if IsReversal(e.Type) {
		f.user, f.kind = f.payment.UserID, f.payment.Kind
		return f
	}
	if f.user == "" {
		f.user = cmp.Or(subscription.UserID, f.payment.UserID)
	}
	if f.kind == "" {
		f.kind = f.payment.Kind
	}
	if f.kind == "" && (knownSubscription || strings.HasPrefix(e.Type, "subscription.")) {
		f.kind = KindSubscription
	}
	return f
}

// subscriptionKey is the row of subscription_state the event is about; a user
// whose provider names no subscription has one implicit subscription.
func (f *facts) subscriptionKey() string {
	if f.SubscriptionID != "" {
		return f.SubscriptionID
	}
	return ImplicitSubscription(f.user)
}

const implicitPrefix = "implicit:"

// ImplicitSubscription is the id of the one subscription of a user whose
// provider names none.
func ImplicitSubscription(user string) string { return implicitPrefix + user }
