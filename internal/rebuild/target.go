package rebuild

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// target is the tables of a rebuild.
type target struct {
	schema      string
	connections []*pgxpool.Conn // two
	logID       string
	rowsID      store.RowsID
	positions   map[int]uint64 // by partition
}

// openTarget returns the tables of a store, which are at these positions unless others work on them.
func openTarget(ctx context.Context, s *store.Store, rules projections.Rules, at identity.Positions) (_ *target, err error) {
	t := &target{schema: s.Schema(), positions: map[int]uint64{}}
	for partition, position := range at {
		t.positions[partition] = position
	}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	for range 2 {
		connection, err := s.Pool().Acquire(ctx)
		if err != nil {
			return nil, fmt.Errorf("connect to the database: %w", err)
		}
		t.connections = append(t.connections, connection)
	}
	if t.logID, err = store.CheckRules(ctx, t.connections[0], t.schema, rules); err != nil {
		return nil, err
	}
	if t.rowsID, err = store.ReadRowsID(ctx, t.connections[0], t.schema); err == nil && t.rowsID.FoldID != rules.FoldID() {
		err = store.ErrFenced // the tables were replaced meanwhile
	}
	return t, err
}

func (t *target) close() {
	for _, connection := range t.connections {
		connection.Release()
	}
}

// fill writes what fold passes to its argument, and then the rows of many customers, into the empty tables. The last
// transaction holds and moves the checkpoints. If only the others commit, the tables still count as empty. The error
// may be store.ErrFenced or a store.RefusedError.
func (t *target) fill(
	ctx context.Context, advance store.Advance, ofManyCustomers func() []tables.Change,
	fold func(context.Context, func(context.Context, [][]byte) error) error,
) (err error) {
	writers, err := newWriters(ctx, t.connections)
	defer func() {
		if err != nil {
			giveUp(writers)
		}
	}()
	if err != nil {
		return err
	}
	main := writers[len(writers)-1].tx
	if err := store.LockPositions(ctx, main, t.logID, t.positions); err != nil {
		return err
	}
	if now, err := store.ReadRowsID(ctx, main, t.schema); err != nil || now != t.rowsID {
		return errors.Join(err, store.ErrFenced) // others have dropped the tables and made new ones
	}
	for _, w := range writers {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if err := writeAll(ctx, writers, fold); err != nil {
		return err
	}
	for _, change := range ofManyCustomers() {
		if rows := change.AppendInserted(nil); len(rows) > 0 {
			if err := tables.CopyIn(ctx, main, change.Table(), false, rows); err != nil {
				return store.AsRefused(err)
			}
		}
	}
	if err := advance.Move(ctx, main); err != nil {
		return err
	}
	for _, w := range writers {
		if err := w.tx.Commit(ctx); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	}
	return nil
}

// quarantined returns the sequences of the quarantined events of the log.
func (t *target) quarantined(ctx context.Context) (map[uint64]bool, error) {
	state, batch := projections.NewState(), &pgx.Batch{}
	tables.QueueQuarantined(batch, t.schema, state, 0, math.MaxInt64)
	if err := t.connections[0].SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("read the quarantined events: %w", err)
	}
	return state.Quarantined, nil
}

// makeIndexes makes the missing indexes of a stage.
func (t *target) makeIndexes(ctx context.Context, stage tables.Stage) error {
	return store.MakeIndexes(ctx, t.schema, stage, t.connections...)
}
