package tables

import "github.com/payfold/payfold/internal/events"

// NameKind says what a name identifies.
type NameKind int

const (
	OfEvent NameKind = iota + 1
	OfPayment
	OfSubscription
	OfUser
	OfMessage // a sequence, as text

	// The kinds below are used only in lookups. EachName does not pass them to its callback.
	OfLicensed    // a user all of whose claimed pro payments are needed
	ofTransaction // a transaction that an event of the batch names
	ofOrder       // an order that it names
	ofPaymentID   // the payment id in reversals and ledger lines
)

// EachName calls do with every name by which the fold of an event looks for rows. A name
// may be empty.
func EachName(e events.Event, do func(NameKind, string)) {
	do(OfEvent, e.ID)
	eachRowName(&e, func(kind NameKind, name string) {
		switch kind {
		case ofTransaction, ofOrder:
			do(OfPayment, name)
		default:
			do(kind, name)
		}
	})
}

// eachRowName is EachName without the event's id, for the kinds that lookups have.
func eachRowName(e *events.Event, do func(NameKind, string)) {
	if !e.HasEffect() {
		return
	}
	do(ofTransaction, e.Transaction)
	do(ofOrder, e.Order)
	if e.Action != events.Payment && e.Action != events.Checkout && e.Action != events.Subscription {
		return
	}
	do(OfSubscription, e.SubscriptionID)
	do(OfUser, e.UserID)
}
