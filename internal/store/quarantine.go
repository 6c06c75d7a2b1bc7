package store

import (
	"context"
	"fmt"
	"log/slog"
)

// maxQuarantined bounds what one process takes for bad events. With more of them the
// database is at fault, such as one with a constraint that is not payfold's.
const maxQuarantined = 100

// Quarantine is the events that this process has found to be refused by the database.
// The zero value is empty. Not for concurrent use.
type Quarantine struct {
	Refused  Refused // not recorded yet: the next fold of each does that
	recorded int
}

// Add quarantines a refused event. Where the database refuses its rejection as well, the
// event is not at fault, and Add returns why.
func (q *Quarantine) Add(refused *RefusedError) error {
	if q.Refused == nil {
		q.Refused = Refused{}
	}
	if _, again := q.Refused[refused.Seq]; again {
		delete(q.Refused, refused.Seq)
		return fmt.Errorf("the database refuses even the rejection of the event at seq %d, so it is not the events: %w", refused.Seq, refused.Cause)
	}
	if q.recorded+len(q.Refused) >= maxQuarantined {
		return fmt.Errorf("the database refuses more than %d events, so it is not the events: %w", maxQuarantined, refused.Cause)
	}
	q.Refused[refused.Seq] = refused.Cause
	return nil
}

// Folded says that an event was folded for good, and whether that was its rejection.
func (q *Quarantine) Folded(ctx context.Context, logger *slog.Logger, seq uint64) bool {
	cause, rejected := q.Refused[seq]
	if rejected {
		delete(q.Refused, seq)
		q.recorded++
		logger.ErrorContext(ctx, "an event is refused by the database and was rejected", "seq", seq, "error", cause)
	}
	return rejected
}
