package tables

import (
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// NameKind says what a name identifies.
type NameKind int

const (
	OfEvent NameKind = iota + 1
	OfPayment
	OfSubscription
	OfUser
	OfMessage // a sequence, as text

	// The kinds below are used only in lookups; EachName does not give them.
	ofStartedSubscription // a subscription that an event of the batch starts
	ofMergeTarget         // the payment that another one was merged into
	ofPaymentID           // the payment id in reversals and ledger lines
)

// EachName calls do with every name by which the fold of an event looks for rows. A name
// may be empty.
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

// PaymentsOf returns the name that all payments of a subscription have in the row cache.
// It differs from every name in an event.
func PaymentsOf(subscription string) string { return "\x00" + subscription }
