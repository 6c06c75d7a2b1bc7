package store

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
)

// change is what is to be written to one table.
type change interface {
	// queue adds one or two statements.
	queue(batch *pgx.Batch)
	// copy writes many rows at once.
	copy(ctx context.Context, tx pgx.Tx) error
	// rows are the new ones.
	rows() someRows
	// layout is the table's name and columns.
	layout() (table string, columns []column)
}

type changes[R any] struct {
	table             string
	inserted, updated []R
}

func (c changes[R]) layout() (string, []column) { return c.table, columnsOf[R]() }

func (c changes[R]) rows() someRows { return someOf(columnsOf[R](), c.inserted) }

func (c changes[R]) queue(batch *pgx.Batch) {
	insert(batch, c.table, c.inserted)
	update(batch, c.table, c.updated)
}

func (c changes[R]) copy(ctx context.Context, tx pgx.Tx) error {
	if err := copyIn(ctx, tx, c.table, columnsOf[R](), false, c.rows()); err != nil {
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
