package projections

import (
	"errors"
	"fmt"
	"strings"

	"github.com/payfold/payfold/internal/events"
)

// RulesVersion changes whenever a fold of the same log could give other rows.
const RulesVersion = "3"

// Rules are the settings the fold depends on.
type Rules struct {
	Mode      Mode
	Catalogue *Catalogue // nil: the metadata says what is sold
	Extras    []string   // sorted; see extras; only a rebuild has some
}

// FoldID names these rules: rows made under another one may differ.
func (r Rules) FoldID() string {
	id := "rules " + RulesVersion + ", mode " + string(r.Mode)
	if r.Catalogue != nil {
		id += fmt.Sprintf(", catalogue %d %s", r.Catalogue.Version, r.Catalogue.digest)
	}
	if len(r.Extras) > 0 {
		id += ", with " + strings.Join(r.Extras, " ")
	}
	return id
}

// Fold applies one event to the state. It is deterministic and total: of an event
// it cannot use it records why, and keeps at most what it says of its payment. An event id
// that the state has seen is recorded as a duplicate and does nothing else. One
// whose rows the database has refused before is rejected, with nothing recorded
// but what every event has.
func (r Rules) Fold(s *State, e events.Event) {
	if s.Events.Has(e.ID) {
		s.Duplicates = append(s.Duplicates, DuplicateEvent{StreamSeq: int64(e.Seq), EventID: e.ID})
		return
	}
	if s.Poison[e.Seq] {
		s.record(&facts{Event: events.Event{ID: e.ID, Seq: e.Seq, OccurredAt: e.OccurredAt, ReceivedAt: e.ReceivedAt}}, Rejected, Internal)
		return
	}
	if len(r.Extras) > 0 && s.before == nil {
		s.before = map[string]Payment{}
	}
	f := newFacts(s, e)
	outcome, err := r.apply(s, f)
	var refusal refused
	reason := Reason("")
	if errors.As(err, &refusal) {
		outcome, reason = Rejected, Reason(refusal)
	}
	s.record(f, outcome, reason)
	r.foldExtras(s, f, outcome)
}

// refused is a Reason on its way out of a rule; a rule that returns it has claimed and granted nothing.
type refused Reason

func (r refused) Error() string { return string(r) }

func (r Rules) apply(s *State, f *facts) (Outcome, error) {
	if f.Unreadable {
		return Rejected, refused(InvalidText)
	}
	effect, ok := effects[f.Type]
	if !ok {
		return Ignored, nil
	}
	if IsReversal(f.Type) { // the payment it names judges it, nothing else
		if f.InvalidPayment {
			return Rejected, refused(InvalidText)
		}
		return effect(r, s, f)
	}
	if f.InvalidText || strings.HasPrefix(f.SubscriptionID, implicitPrefix) {
		return Rejected, refused(InvalidText)
	}
	if !r.Mode.takes(f.Mode) {
		return Rejected, refused(WrongMode)
	}
	if r.Catalogue.sells(f.Product) { // what the provider says was sold, whatever the buyer wrote into the metadata
		f.ProductKey = f.Product
	}
	return effect(r, s, f)
}
