// Package projections has the rules: a pure fold from events to the rows of the read models.
//
//	State × Event ──Fold──▶ State + Outcome
//
// The package uses no clock, no database and no logger. The same events in the same order give
// the same rows, byte for byte, in any batches. Live projection and rebuild run the same code.
//
// From the bottom up: the files that are named after tables have the rows, and what follows
// from a row alone (read payment.go first). state.go holds and finds all rows. write_ledger.go
// writes the ledger. choose.go chooses what the portal shows. recompute.go and
// set_subscription.go call each other: a payment can change its subscription, and a subscription
// its payments.
// claim.go, lifecycle.go and reverse.go are the rules of the event types. fold.go applies them.
//
// A State must hold every row that the events folded into it can touch (see State). Each
// Table knows which of its rows a fold changed.
package projections

import (
	"cmp"
	"strings"

	"github.com/payfold/payfold/internal/events"
)

// Fold applies one event to the state. It is deterministic and total: if it cannot use an
// event, it records why, and keeps at most what the event says of its payment. If the state
// has seen the event id, Fold only records a duplicate. A quarantined event is one whose rows the
// database has refused before. It is rejected; only its id, sequence and times are recorded.
func (r Rules) Fold(s *State, e events.Event) {
	if s.Events.Has(e.ID) {
		s.Duplicates = append(s.Duplicates, DuplicateEvent{StreamSeq: int64(e.Seq), EventID: e.ID})
		return
	}
	if s.Quarantined[e.Seq] {
		s.record(&facts{Event: events.Event{
			Provider: e.Provider, ID: e.ID, Seq: e.Seq, OccurredAt: e.OccurredAt, ReceivedAt: e.ReceivedAt, Action: events.None,
		}}, Rejected, Internal)
		return
	}
	if len(r.Extras) > 0 && s.before == nil {
		s.before = map[string]Payment{}
	}
	f := newFacts(s, &e)
	outcome, reason := r.apply(s, f)
	s.record(f, outcome, reason)
	r.foldExtras(s, f, outcome)
}

func (r Rules) apply(s *State, f *facts) (Outcome, Reason) {
	if f.Unreadable {
		return Rejected, InvalidText
	}
	switch {
	case !f.HasEffect():
		return Ignored, ""
	case f.Action == events.Reverse && f.InvalidPayment: // a reversal needs only the names of its payment
		return Rejected, InvalidText
	case f.foreign:
		return Rejected, PaymentConflict
	case f.Action == events.Reverse:
		return r.reverse(s, f)
	}
	if f.InvalidText || strings.HasPrefix(f.SubscriptionID, implicitPrefix) {
		return Rejected, InvalidText
	}
	if !r.Mode.accepts(f.Mode) {
		return Rejected, WrongMode
	}
	r.findProduct(f)
	switch {
	case f.claims():
		return r.claim(s, f)
	case f.Action == events.Subscription:
		return r.lifecycle(s, f)
	}
	r.keepNames(s, f)
	return Ignored, ""
}

// newFacts returns the facts of the event. They are valid until the next call.
func newFacts(s *State, e *events.Event) *facts {
	f := &s.facts
	*f = facts{}
	f.Event, f.kind, f.user = *e, e.Kind, e.UserID
	if !f.HasEffect() {
		return f
	}
	s.findPayment(f)
	s.findForeign(f)
	if f.Action == events.Reverse {
		f.user, f.kind = f.payment.UserID, f.payment.Kind
		return f
	}
	f.user, f.kind = cmp.Or(f.user, f.payment.user()), cmp.Or(f.kind, f.payment.Kind)
	if (f.user == "" || f.kind == "") && f.Action != events.None { // of an event without an action, it is not loaded
		if subscription := s.Subscriptions.find(e.SubscriptionID); subscription != nil {
			f.user, f.kind = cmp.Or(f.user, subscription.UserID), cmp.Or(f.kind, subscription.SoldKind, subscription.Kind)
		}
	}
	if f.kind == "" && f.isOfSubscription() {
		f.kind = KindSubscription
	}
	return f
}

// findForeign finds out whether the event names a payment or a subscription of another provider. Own events of the shop
// may name any. The subscription of a reversal does not matter, and is not loaded.
func (s *State) findForeign(f *facts) {
	f.foreign = isForeign(f.payment.Provider, f.Provider) || isForeign(f.same.Provider, f.Provider)
	if f.Action == events.Reverse || f.Action == events.None {
		return
	}
	if subscription := s.Subscriptions.find(f.SubscriptionID); subscription != nil {
		f.foreign = f.foreign || isForeign(subscription.Provider, f.Provider)
	}
}

func isForeign(known, now string) bool {
	return known != "" && known != now && known != events.OwnEvents && now != events.OwnEvents
}

func (s *State) record(f *facts, outcome Outcome, reason Reason) {
	s.Events.add(ProcessedEvent{
		EventID:           f.ID,
		StreamSeq:         int64(f.Seq),
		Provider:          f.Provider,
		EventType:         f.Type,
		Action:            string(f.Action),
		Kind:              f.kind,
		UserID:            f.user,
		SubscriptionID:    f.SubscriptionID,
		ProviderPaymentID: cmp.Or(f.payment.ProviderPaymentID, f.PaymentID()),
		Outcome:           string(outcome),
		Reason:            string(reason),
		OccurredAt:        f.OccurredAt,
		ReceivedAt:        f.ReceivedAt,
	})
}
