package tables

import (
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// NameKind is what a name names.
type NameKind int

const (
	OfEvent NameKind = iota + 1
	OfPayment
	OfSubscription
	OfUser
	OfMessage // a sequence, as text

	// What rows lead to, but no event names:
	ofStart  // a subscription that an event starts
	ofTarget // the payment that another one was merged into
	itself   // the id that a payment's reversals and ledger lines have
)

// EachName calls do with every name under which the fold of an event looks for rows; a
// name may be empty.
func EachName(e events.Event, do func(NameKind, string)) {
	do(OfEvent, e.ID)
	if !projections.HasEffect(e.Type) {
		return
	}
	do(OfPayment, e.Transaction)
	do(OfPayment, e.Order)
	if projections.IsReversal(e.Type) {
		return
	}
	do(OfSubscription, e.SubscriptionID)
	do(OfUser, e.UserID)
}

// PaymentsOf is a name of all payments of a subscription, which is no name of anything else.
func PaymentsOf(subscription string) string { return "\x00" + subscription }
