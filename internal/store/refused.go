package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// RefusedError: the database refuses what the batch would write, and would
// again; or the rules panicked. Nothing was written.
type RefusedError struct {
	Seq   uint64 // of the event; 0 where any of the batch may be the cause
	Cause error
}

func (e *RefusedError) Error() string { return "refused: " + e.Cause.Error() }

func (e *RefusedError) Unwrap() error { return e.Cause }

// Refused are events that the database has refused, by their sequences, each with
// the cause. The fold that is given them rejects them and records them in
// payfold.poison, in its own transaction: from then on every fold of the log does.
type Refused map[uint64]error

// Record writes those that are folded in this transaction, of that log.
func (r Refused) Record(ctx context.Context, tx pgx.Tx, logID string, folded func(seq uint64) bool) error {
	var seqs []int64
	var causes []string
	for seq, cause := range r {
		if folded(seq) {
			seqs, causes = append(seqs, int64(seq)), append(causes, cause.Error())
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `insert into payfold.poison (log_id, stream_seq, error)
		select $1, * from unnest($2::bigint[], $3::text[]) on conflict do nothing`, logID, seqs, causes)
	if err != nil {
		return fmt.Errorf("record the refused events: %w", err)
	}
	return nil
}

// Refusal is err, as a RefusedError where the database would refuse it again.
func Refusal(err error) error {
	if isRefusal(err) {
		return &RefusedError{Cause: err}
	}
	return err
}

// Fold turns a panic of the rules into a refusal of that event.
func Fold(rules projections.Rules, state *projections.State, event events.Event) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &RefusedError{Seq: event.Seq, Cause: fmt.Errorf("the rules panicked: %v", cause)}
		}
	}()
	rules.Fold(state, event)
	return nil
}
