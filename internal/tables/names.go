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
	OfLicensed          // a user all of whose claimed pro payments are needed
	OfWholeSubscription // a subscription all of whose payments are needed
	ofTransaction       // a transaction that an event of the batch names
	ofOrder             // an order that it names
	ofMergeTarget       // the payment that another one was merged into
	ofPaymentID         // the payment id in reversals and ledger lines
)

// EachName calls do with every name by which the fold of an event looks for rows. A name
// may be empty.
func EachName(e events.Event, do func(NameKind, string)) {
	do(OfEvent, e.ID)
	eachRowName(&e, func(kind NameKind, name string) {
		switch kind {
		case ofTransaction, ofOrder:
			do(OfPayment, name)
		case OfWholeSubscription:
		default:
			do(kind, name)
		}
	})
}

// EachCacheName calls do with every name by which the fold of an event looks for rows in the row
// cache. A name may be empty.
func EachCacheName(e *events.Event, do func(name string)) {
	eachRowName(e, func(kind NameKind, name string) { do(kind.InCache(name)) })
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
	if e.Action == events.Checkout {
		do(OfWholeSubscription, e.SubscriptionID)
	}
}

// InCache returns the name in the row cache of the rows that a name of this kind leads to.
func (k NameKind) InCache(name string) string {
	switch k {
	case OfLicensed:
		return ProPaymentsOf(name)
	case OfWholeSubscription:
		return PaymentsOf(name)
	}
	return name
}

// The names below are for the row cache. They differ from every name in an event, which has no U+0000.

// PaymentsOf returns the name that all payments of a subscription have.
func PaymentsOf(subscription string) string { return "\x00" + subscription }

// ProPaymentsOf returns the name that all claimed pro payments of a user have.
func ProPaymentsOf(user string) string { return "\x00\x00" + user }
