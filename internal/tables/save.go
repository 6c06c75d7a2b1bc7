package tables

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Change is what is to be written to one table.
type Change interface {
	// Queue queues one or two statements.
	Queue(batch *pgx.Batch)
	// Copy writes many rows at once.
	Copy(ctx context.Context, tx pgx.Tx) error
	// New are the new ones.
	New() SomeRows
	// Layout is the table's name and columns.
	Layout() (table string, columns []Column)
}

type changes[R any] struct {
	table             string
	inserted, updated []R
}

func (c changes[R]) Layout() (string, []Column) { return c.table, columnsOf[R]() }

func (c changes[R]) New() SomeRows { return someOf(columnsOf[R](), c.inserted) }

func (c changes[R]) Queue(batch *pgx.Batch) {
	insert(batch, c.table, c.inserted)
	update(batch, c.table, c.updated)
}

func (c changes[R]) Copy(ctx context.Context, tx pgx.Tx) error {
	if err := CopyIn(ctx, tx, c.table, columnsOf[R](), false, c.New()); err != nil {
		return err
	}
	return updateIn(ctx, tx, c.table, slices.Values(c.updated))
}

// updatesAtOnce bounds the arrays of one statement.
const updatesAtOnce = 10_000

// updateIn writes changed rows, however many.
func updateIn[R any](ctx context.Context, tx pgx.Tx, table string, rows iter.Seq[R]) error {
	var some []R
	write := func() error {
		batch := &pgx.Batch{}
		update(batch, table, some)
		some = some[:0]
		return tx.SendBatch(ctx, batch).Close()
	}
	for row := range rows {
		if some = append(some, row); len(some) == updatesAtOnce {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if len(some) == 0 {
		return nil
	}
	return write()
}
