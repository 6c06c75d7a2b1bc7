package projections

import (
	"errors"
	"fmt"
	"strings"

	"github.com/payfold/payfold/internal/events"
)

// RulesVersion changes whenever a fold of the same log can give other rows.
const RulesVersion = "3"

// Rules are the settings of the fold.
type Rules struct {
	Mode      Mode
	Catalogue *Catalogue // if nil, the metadata says what is sold
	Extras    []string   // sorted names, see extras; only a rebuild has any
}

// FoldID identifies these rules. Rows that were made under another id may differ.
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

// Fold applies one event to the state. It is deterministic and total: if it cannot use an
// event, it records why, and keeps at most what the event says of its payment. If the state
// has seen the event id, the event is recorded as a duplicate and does nothing else. A
// quarantined event, whose rows the database has refused before, is rejected; only its id,
// sequence and times are recorded.
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
	var rejected rejection
	reason := Reason("")
	if errors.As(err, &rejected) {
		outcome, reason = Rejected, Reason(rejected)
	}
	s.record(f, outcome, reason)
	r.foldExtras(s, f, outcome)
}

// rejection is the error of a rule that rejects the event. The rule has claimed and granted
// nothing.
type rejection Reason

func (r rejection) Error() string { return string(r) }

func (r Rules) apply(s *State, f *facts) (Outcome, error) {
	if f.Unreadable {
		return Rejected, rejection(InvalidText)
	}
	effect, ok := effects[f.Type]
	if !ok {
		return Ignored, nil
	}
	if IsReversal(f.Type) { // only the payment that it names matters
		if f.InvalidPayment {
			return Rejected, rejection(InvalidText)
		}
		return effect(r, s, f)
	}
	if f.InvalidText || strings.HasPrefix(f.SubscriptionID, implicitPrefix) {
		return Rejected, rejection(InvalidText)
	}
	if !r.Mode.accepts(f.Mode) {
		return Rejected, rejection(WrongMode)
	}
	if r.Catalogue.sells(f.Product) { // the provider's product has priority over metadata, which the buyer can write
		f.ProductKey = f.Product
	}
	return effect(r, s, f)
}
