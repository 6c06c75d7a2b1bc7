package tables

import (
	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// Change is the rows of one table that have to be written.
type Change interface {
	// Queue queues one statement each for all removed, updated and inserted rows. It is for a batch of live events.
	Queue(batch *pgx.Batch)
	// AppendInserted appends the inserted rows in COPY's binary format, for CopyIn.
	AppendInserted(out []byte) []byte
	// Table returns the table of the rows.
	Table() AnyTable
}

type changes[R any] struct {
	table                      *Table[R]
	inserted, updated, removed []R
}

func (c changes[R]) Table() AnyTable { return c.table }

func (c changes[R]) AppendInserted(out []byte) []byte {
	columns := c.table.Columns()
	for i := range c.inserted {
		out = appendRow(out, columns, &c.inserted[i])
	}
	return out
}

func (c changes[R]) Queue(batch *pgx.Batch) {
	c.table.remove(batch, c.removed)
	c.table.update(batch, c.updated) // first, because an inserted row may have a name that another one gives up
	c.table.insert(batch, c.inserted)
}

// QueueChanges queues the statements that write what the fold changed in all tables.
func QueueChanges(batch *pgx.Batch, state *projections.State) {
	for _, c := range Changes(state) {
		c.Queue(batch)
	}
}
