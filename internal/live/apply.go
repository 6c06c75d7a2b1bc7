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

// maxConflicts bounds the tries of one batch that conflicts with other projectors. That is
// far more than happen by chance, and few enough to notice a conflict that never ends.
const maxConflicts = 20

// Apply folds the events, which are in the order of the log, and moves the checkpoints, in
// one transaction. After a conflict with another projector it tries again on what that one
// has committed. The error is a store.RefusedError where the database would refuse the same
// rows again, store.ErrFenced or store.ErrFoldID.
func Apply(ctx context.Context, s *store.Store, rules projections.Rules, batch []events.Event, advance store.Advance) (Result, error) {
	for attempt := 1; ; attempt++ {
		var result Result
		err := pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) (err error) {
			result, err = applyOnce(ctx, s, tx, rules, batch, advance)
			return err
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

func applyOnce(ctx context.Context, s *store.Store, tx pgx.Tx, rules projections.Rules, batch []events.Event, advance store.Advance) (Result, error) {
	if _, err := advanceCheckpoints(ctx, tx, rules.FoldID(), s.Schema(), advance); err != nil {
		return Result{}, err
	}
	if len(batch) == 0 {
		return Result{}, nil
	}
	inBatch := func(seq uint64) bool {
		return slices.ContainsFunc(batch, func(e events.Event) bool { return e.Seq == seq })
	}
	if err := advance.Quarantined.Record(ctx, tx, advance.LogID, inBatch); err != nil {
		return Result{}, err
	}
	state, err := tables.Load(ctx, tx, s.Schema(), batch)
	if err != nil {
		return Result{}, err
	}
	return foldAndSave(ctx, s, tx, rules, state, batch)
}

func foldAndSave(ctx context.Context, s *store.Store, tx pgx.Tx, rules projections.Rules, state *projections.State, batch []events.Event) (Result, error) {
	for _, event := range batch {
		if err := store.Fold(rules, state, event); err != nil {
			return Result{}, err
		}
	}
	result := resultOf(state)
	writes := &pgx.Batch{}
	store.RecordOutOfOrder(writes, s.Schema(), state, &result.OutOfOrder)
	s.QueueChanges(writes, state)
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return Result{}, fmt.Errorf("write the rows: %w", err)
	}
	return result, nil
}

// advanceCheckpoints comes first in the transaction, so that a second projector on a
// partition waits before it reads a row. It returns which rows the tables have.
func advanceCheckpoints(ctx context.Context, tx pgx.Tx, foldID, schema string, advance store.Advance) (store.RowsID, error) {
	var rows store.RowsID
	var moved bool
	statements := &pgx.Batch{}
	if schema == store.LiveSchema {
		store.WaitForPromotion(statements)
	}
	statements.Queue(tables.PreferIndexes)
	rows.Queue(statements, schema)
	advance.Queue(statements, &moved)
	if err := tx.SendBatch(ctx, statements).Close(); err != nil {
		return rows, fmt.Errorf("move the checkpoints: %w", err)
	}
	if rows.FoldID != foldID {
		return rows, store.ErrFoldID
	}
	if !moved {
		return rows, store.ErrFenced
	}
	return rows, nil
}
