package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// RefusedError means that the database refuses the rows of a batch and would refuse them
// again, or that the rules have panicked. Nothing was written.
type RefusedError struct {
	Seq   uint64 // of the event; 0 if any of the batch may be the cause
	Cause error
}

func (e *RefusedError) Error() string { return "refused: " + e.Cause.Error() }

func (e *RefusedError) Unwrap() error { return e.Cause }

// CommitError means that Postgres did not commit, although it had accepted every row. If the connection was lost, it
// may have committed.
type CommitError struct{ Cause error }

func (e *CommitError) Error() string { return "commit: " + e.Cause.Error() }

func (e *CommitError) Unwrap() error { return e.Cause }

// QuarantinedEvents are the causes for which the database has refused events, by the
// events' sequences. The batch that has them rejects the events and records them in
// payfold.poison, in the same transaction. From then on every fold of the log rejects them.
type QuarantinedEvents map[uint64]error

// Record records the events for which inBatch returns true.
func (q QuarantinedEvents) Record(ctx context.Context, tx pgx.Tx, logID string, inBatch func(seq uint64) bool) error {
	var seqs []int64
	var causes []string
	for seq, cause := range q {
		if inBatch(seq) {
			seqs, causes = append(seqs, int64(seq)), append(causes, cause.Error())
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `insert into payfold.poison (log_id, stream_seq, error)
		select $1, * from unnest($2::bigint[], $3::text[]) on conflict do nothing`, logID, seqs, causes)
	if err != nil {
		return fmt.Errorf("record the quarantined events: %w", err)
	}
	return nil
}

// AsRefused returns err, wrapped in a RefusedError if the database would refuse the
// same rows again.
func AsRefused(err error) error {
	if isRefused(err) {
		return &RefusedError{Cause: err}
	}
	return err
}

// Fold folds one event into the state. It turns a panic of the rules into a RefusedError
// of that event.
func Fold(rules projections.Rules, state *projections.State, event events.Event) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &RefusedError{Seq: event.Seq, Cause: fmt.Errorf("the rules panicked: %v", cause)}
		}
	}()
	rules.Fold(state, event)
	return nil
}
