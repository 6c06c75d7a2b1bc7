package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
)

var (
	// ErrNotQuarantined means that the log of the live tables has no quarantined event at that sequence.
	ErrNotQuarantined = errors.New("no event is quarantined")
	// errNotReached means that no batch has applied or rejected the quarantined event yet, because only a rebuild has.
	errNotReached = errors.New("the live tables have not reached it yet; try again when they have")
)

// Retried says what became of a quarantined event.
type Retried struct {
	Seq     uint64 `json:"stream_seq"`
	EventID string `json:"event_id"`
	Outcome string `json:"outcome"`          // or "duplicate" if it repeats the id of an earlier event
	Reason  string `json:"reason,omitempty"` // why it was rejected
	Events  int    `json:"events"`           // events that were folded again
	Users   int    `json:"users"`            // users whose rows were written again
}

// Retry releases a quarantined event and folds it again, with all events of the customers that it connects, as Run does
// for out-of-order events. Every later fold of the log has it, too. All that is one transaction. After an error the
// event is still quarantined and the tables are unchanged, unless the connection broke at the commit; then another
// Retry tells. The error is ErrNotQuarantined if the event is not quarantined. Retry does not run beside a
// verification, which would report the event's rows as wrong.
func (s *Settle) Retry(ctx context.Context, seq uint64) (Retried, error) {
	if seq == 0 { // sequences count from 1
		return Retried{}, fmt.Errorf("%w at seq 0", ErrNotQuarantined)
	}
	s.retried = seq
	unlock, err := s.Tables.At(store.VerifySchema).LockSchema(ctx)
	if err != nil {
		return Retried{}, err
	}
	defer unlock()
	settled, err := s.Run(ctx)
	var refused *store.RefusedError
	switch {
	case errors.As(store.AsRefused(err), &refused):
		return Retried{}, fmt.Errorf("the event at seq %d stays quarantined: the database refuses it again: %w", seq, refused.Cause)
	case err != nil:
		return Retried{}, fmt.Errorf("the event at seq %d was not tried again: %w", seq, err)
	case settled.Events == 0:
		return Retried{}, fmt.Errorf("%w at seq %d", ErrNotQuarantined, seq)
	}
	outcome, reason := outcomeIn(s.folded, seq)
	return Retried{seq, s.customers.events[seq].ID, outcome, reason, settled.Events, settled.Users}, nil
}

// outcomeIn returns what a fold has decided about a message.
func outcomeIn(state *projections.State, seq uint64) (outcome, reason string) {
	for _, e := range state.Events.Inserted() {
		if e.StreamSeq == int64(seq) {
			return e.Outcome, e.Reason
		}
	}
	return "duplicate", ""
}
