package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// maxConflicts bounds the tries of one batch that conflicts with other projectors. Chance conflicts
// need far fewer tries, and a conflict that never ends is noticed soon.
const maxConflicts = 20

// Apply folds the events, which are in the order of the log, and moves the checkpoints, in one
// transaction. Out-of-order events of the live tables are recorded. After a conflict with another projector it tries again on the rows that the other
// one has committed. The error may be store.ErrFenced, store.ErrFoldID, or a store.RefusedError if
// the database would refuse the same rows again.
func Apply(ctx context.Context, s *store.Store, rules projections.Rules, batch []events.Event, advance store.Advance) (Result, error) {
	for attempt := 1; ; attempt++ {
		var result Result
		err := transact(ctx, s, rules, advance, func(tx pgx.Tx, _ store.RowsID) (*pgx.Batch, error) {
			return loadAndFold(ctx, s, tx, rules, batch, &result)
		})
		if store.IsConflict(err) && attempt < maxConflicts {
			continue
		}
		return result, store.AsRefused(err)
	}
}

// Result is what a committed batch did.
type Result struct {
	Events     []projections.ProcessedEvent
	Duplicates int
	OutOfOrder int // out-of-order events that were recorded
}

// resultOf returns what a fold has done, except for the out-of-order events.
func resultOf(state *projections.State) Result {
	return Result{Events: state.Events.Inserted(), Duplicates: len(state.Duplicates)}
}

// loadAndFold returns the statements that write what the events change.
func loadAndFold(ctx context.Context, s *store.Store, tx pgx.Tx, rules projections.Rules, batch []events.Event, result *Result) (*pgx.Batch, error) {
	batch, err := withoutKnownMarks(ctx, tx, batch)
	if err != nil {
		return nil, err
	}
	if len(batch) == 0 {
		return &pgx.Batch{}, nil
	}
	state, err := tables.Load(ctx, tx, s.Schema(), rules, batch)
	if err != nil {
		return nil, err
	}
	return fold(s, rules, state, batch, result)
}

// withoutKnownMarks returns the events without the marks (events.Lost) of messages that the tables have. The tables can
// have a lost message although the checkpoint of its mark's partition is before it: the checkpoint of an idle partition
// moves only now and then. A backlog never has such a mark, because all its partitions are at one position.
func withoutKnownMarks(ctx context.Context, tx pgx.Tx, batch []events.Event) ([]events.Event, error) {
	var marks []uint64
	for i := range batch {
		if batch[i].Type == events.LostType {
			marks = append(marks, batch[i].Seq)
		}
	}
	if len(marks) == 0 {
		return batch, nil
	}
	known, err := store.Applied(ctx, tx, marks)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(batch), func(e events.Event) bool { return slices.Contains(known, e.Seq) }), nil
}

// fold returns the statements that write what the events change. The result is complete when the
// statements have been sent.
func fold(s *store.Store, rules projections.Rules, state *projections.State, batch []events.Event, result *Result) (*pgx.Batch, error) {
	if err := rules.FoldAll(state, slices.Values(batch)); err != nil {
		return nil, err
	}
	*result = resultOf(state)
	writes, isLive := &pgx.Batch{}, s.Schema() == store.LiveSchema
	if isLive { // a candidate lacks the indexes that this needs
		store.RecordOutOfOrder(writes, state, &result.OutOfOrder)
	}
	tables.QueueChanges(writes, state)
	if isLive {
		store.QueueNotifications(writes, state)
	}
	return writes, nil
}

// transact moves the checkpoints, calls work, and sends the statements that work returns, in one
// transaction. The checkpoints come first, so that a second projector on a partition waits before
// it reads a row. work gets the id of the rows that the tables have. The error may be
// store.ErrFenced or store.ErrFoldID. After an error nothing is committed, unless the connection
// was lost.
//
// Each round trip delays the rows of a delivery. So "begin" is sent with the first statements, and
// "commit" with the last ones. Postgres does not execute "commit" after a statement has failed.
func transact(ctx context.Context, s *store.Store, rules projections.Rules, advance store.Advance, work func(tx pgx.Tx, rows store.RowsID) (last *pgx.Batch, err error)) (err error) {
	connection, err := s.Pool().Acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	var rows store.RowsID
	var moved bool
	sent := connection.SendBatch(ctx, checkpointsFirst(s.Schema(), advance, &rows, &moved))
	tx := sent.Tx()
	defer func() {
		if err != nil {
			_ = tx.Rollback(ctx) // if it fails, pgx closes the connection
		}
	}()
	if err := sent.Close(); err != nil {
		return fmt.Errorf("move the checkpoints: %w", err)
	}
	if rows.FoldID != rules.FoldID() {
		return store.ErrFoldID
	}
	if !moved {
		return store.ErrFenced
	}
	last, err := work(tx, rows)
	if err != nil {
		return err
	}
	last.Queue("commit").Fn = commit
	if err := tx.SendBatch(ctx, last).Close(); err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	return nil
}

// checkpointsFirst returns the first statements of a transaction. When they have been sent, rows and
// moved have their results.
func checkpointsFirst(schema string, advance store.Advance, rows *store.RowsID, moved *bool) *pgx.Batch {
	first := &pgx.Batch{}
	first.BeginTx(pgx.TxOptions{})
	if schema == store.LiveSchema {
		store.WaitForPromotion(first)
	}
	first.Queue(tables.PreferIndexes)
	rows.Queue(first, schema)
	advance.Queue(first, moved)
	return first
}

// commit reads the answer to "commit".
func commit(answers pgx.BatchResults) error {
	answer, err := answers.Exec()
	switch {
	case err != nil:
		return &store.CommitError{Cause: err}
	case answer.String() != "COMMIT":
		return fmt.Errorf("%w: Postgres answered %q", pgx.ErrTxCommitRollback, answer)
	}
	return nil
}
