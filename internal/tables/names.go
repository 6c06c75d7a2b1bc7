package tables

import (
	"maps"
	"slices"

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

// namesIn returns the names in some events.
func namesIn(batch []events.Event) wantedNames {
	names := wantedNames{}
	for i := range batch {
		names.add(OfEvent, batch[i].ID)
		eachRowName(&batch[i], names.add)
		if user := batch[i].UserID; user != "" && batch[i].SubscriptionID == "" {
			names.add(OfSubscription, projections.ImplicitSubscription(user))
		}
	}
	return names
}

// wantedNames are the names by which rows are looked for, by kind.
type wantedNames map[NameKind]Set

func (w wantedNames) add(kind NameKind, name string) {
	if w[kind] == nil {
		w[kind] = Set{}
	}
	w[kind].Add(name)
}

// Set is a set of texts.
type Set map[string]struct{}

// Add adds the texts that are not empty.
func (s Set) Add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s[text] = struct{}{}
		}
	}
}

// List returns the texts, sorted.
func (s Set) List() []string { return slices.Sorted(maps.Keys(s)) }

func (s Set) unsorted() []string {
	return slices.AppendSeq(make([]string, 0, len(s)), maps.Keys(s))
}
