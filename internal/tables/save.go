package tables

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Change is the rows of one table that have to be written.
type Change interface {
	// Queue queues one statement for all inserted rows and one for all updated rows. It is
	// for a batch of live events.
	Queue(batch *pgx.Batch)
	// Copy writes the rows with COPY and with as many updates as needed.
	Copy(ctx context.Context, tx pgx.Tx) error
	// EncodeInserted returns the inserted rows for CopyIn.
	EncodeInserted() RowEncoder
	// Table returns the table of the rows.
	Table() AnyTable
}

type changes[R any] struct {
	table             *Table[R]
	inserted, updated []R
}

func (c changes[R]) Table() AnyTable { return c.table }

func (c changes[R]) EncodeInserted() RowEncoder { return encodeRows(c.table.Columns(), c.inserted) }

func (c changes[R]) Queue(batch *pgx.Batch) {
	c.table.insert(batch, c.inserted)
	c.table.update(batch, c.updated)
}

func (c changes[R]) Copy(ctx context.Context, tx pgx.Tx) error {
	if err := CopyIn(ctx, tx, c.table, false, c.EncodeInserted()); err != nil {
		return err
	}
	return c.table.updateAll(ctx, tx, slices.Values(c.updated))
}

// maxUpdateRows bounds the arrays of one statement.
const maxUpdateRows = 10_000

// updateAll overwrites any number of rows.
func (t *Table[R]) updateAll(ctx context.Context, tx pgx.Tx, rows iter.Seq[R]) error {
	return inParts(rows, func(some []R) error {
		batch := &pgx.Batch{}
		t.update(batch, some)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// inParts calls write with up to maxUpdateRows rows at a time. write must not keep them.
func inParts[R any](rows iter.Seq[R], write func(some []R) error) error {
	var pending []R
	for row := range rows {
		if pending = append(pending, row); len(pending) == maxUpdateRows {
			if err := write(pending); err != nil {
				return err
			}
			pending = pending[:0]
		}
	}
	if len(pending) == 0 {
		return nil
	}
	return write(pending)
}
