// Package projections has the rules: a pure fold from events to the rows of the read models.
//
//	State × Event ──Fold──▶ State + Outcome
//
// The package uses no clock, no database and no logger. The same events in the same order give
// the same rows, byte for byte, in any batches. Live projection and rebuild run the same code.
//
// The rule of an event's action (actions.go) decides whether the event counts. What it says becomes a fact of a payment or
// a subscription (tell.go), and derive.go brings the rows up to date. Data flows one way:
//
//	event ─▶ fact (fact.go) ─▶ payment (payment_rule.go) ─▶ grants of its period (grants.go) ─▶ ledger (write_ledger.go)
//	                       └─▶ subscription (subscription_rule.go) ─▶ the one that is shown
//	                           payment, subscription ─▶ licence (license.go)
//
// A State must hold every row that the events folded into it can touch (see State). Its Rows
// know which of them a fold changed.
package projections

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/payfold/payfold/internal/events"
)

// FoldAll applies the events to the state, in order. If the rules panic, the error is a *PanicError that names the event,
// and the state must not be used.
func (r Rules) FoldAll(s *State, all iter.Seq[events.Event]) (err error) {
	var seq uint64
	defer func() {
		if cause := recover(); cause != nil {
			err = &PanicError{seq, cause}
		}
	}()
	for e := range all {
		seq = e.Seq
		r.Fold(s, e)
	}
	return nil
}

// PanicError means that the rules have panicked.
type PanicError struct {
	Seq   uint64 // of the event
	Cause any
}

func (e *PanicError) Error() string { return fmt.Sprintf("the rules panicked: %v", e.Cause) }

// Fold applies one event to the state. It is deterministic and total: if it cannot use an
// event, it records why, and keeps at most what the event says of its payment. If the state
// has seen the event id, Fold only records a duplicate. A quarantined event is one whose rows the
// database has refused before. It is rejected; only its id, sequence and times are recorded.
func (r Rules) Fold(s *State, e events.Event) {
	if !s.Quarantined[e.Seq] {
		r.noteUnlisted(s, &e)
	}
	if s.Events.Has(e.ID) {
		s.Duplicates = append(s.Duplicates, DuplicateEvent{StreamSeq: int64(e.Seq), EventID: e.ID})
		return
	}
	if s.Quarantined[e.Seq] {
		s.record(&step{Event: events.Event{
			Provider: e.Provider, ID: e.ID, Seq: e.Seq, OccurredAt: e.OccurredAt, ReceivedAt: e.ReceivedAt, Action: events.None,
		}}, Rejected, Internal)
		return
	}
	if len(r.Extras) > 0 && s.before == nil {
		s.before = map[string]Payment{}
	}
	f := newStep(s, &e)
	outcome, reason := r.apply(s, f)
	s.record(f, outcome, reason)
	r.foldExtras(s, f, outcome)
}

func (r Rules) apply(s *State, f *step) (Outcome, Reason) {
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
	if f.InvalidText || isImplicit(f.SubscriptionID) {
		return Rejected, InvalidText
	}
	if !r.Mode.accepts(f.Mode) {
		return Rejected, WrongMode
	}
	r.findProduct(f)
	switch f.Action {
	case events.Payment:
		return r.pay(s, f)
	case events.Checkout:
		return r.sell(s, f)
	case events.Subscription:
		return r.setStatus(s, f)
	}
	r.keepNames(s, f)
	return Ignored, ""
}

func (s *State) record(f *step, outcome Outcome, reason Reason) {
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
		Note:              string(f.note),
		OccurredAt:        f.OccurredAt,
		ReceivedAt:        f.ReceivedAt,
	})
}

// extras lists the projections that live tables do not have. A rebuild folds only those that its
// user asks for. A new extra projection needs a line here, a file with its row and its rule, a
// table in State, and a declaration in internal/tables.
var extras = map[string]func(*State, *step, Outcome){
	"revenue_daily": countRevenue,
}

// IsExtra reports whether an extra projection has that name.
func IsExtra(name string) bool { return extras[name] != nil }

func (r Rules) foldExtras(s *State, f *step, outcome Outcome) {
	for _, name := range r.Extras {
		extras[name](s, f, outcome)
	}
	clear(s.before)
}
