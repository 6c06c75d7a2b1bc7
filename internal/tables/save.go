package tables

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unsafe"

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
	table *Table[R]
	rows  stateRows[R]
}

func (c changes[R]) Table() AnyTable { return c.table }

func (c changes[R]) AppendInserted(out []byte) []byte {
	columns := c.table.Columns()
	for row := range c.rows.New() {
		out = appendRow(out, columns, row)
	}
	return out
}

func (c changes[R]) Queue(batch *pgx.Batch) {
	c.table.remove(batch, c.rows.Removed())
	c.table.update(batch, c.rows.Updated()) // first, because an inserted row may have a name that another one gives up
	c.table.insert(batch, c.rows.Inserted())
}

// QueueChanges queues the statements that write what the fold changed in all tables.
func QueueChanges(batch *pgx.Batch, state *projections.State) {
	for _, c := range Changes(state) {
		c.Queue(batch)
	}
}

// Changes lists what the fold changed, in the order of All. The changes are valid until the state changes.
func Changes(s *projections.State) (all []Change) {
	for _, t := range All {
		all = append(all, t.ChangesIn(s))
	}
	return all
}

// unnest is an SQL expression that makes rows of arrays, one array for each column.
func unnest(columns []Column) string {
	arrays := make([]string, len(columns))
	for i, c := range columns {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, c.sqlType)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ")"
}

// insert queues one statement for all rows. A row that exists already fails the
// transaction: another projector has inserted it since the batch was loaded. In a shared table it stays.
func (t *Table[R]) insert(batch *pgx.Batch, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns, existing := t.Columns(), ""
	if t.Shared {
		existing = " on conflict do nothing"
	}
	batch.Queue(fmt.Sprintf("insert into %s (%s) select * from %s%s",
		t.Name, ColumnNames(columns), unnest(columns), existing), arrays(columns, rows)...)
}

// remove queues one statement that deletes all rows, found by their keys.
func (t *Table[R]) remove(batch *pgx.Batch, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns := keyColumns(t.Columns())
	batch.Queue(fmt.Sprintf("delete from %s t using %s as n(%s) where %s", t.Name, unnest(columns), ColumnNames(columns), sameKey(columns)),
		arrays(columns, rows)...)
}

// update queues one statement that overwrites all rows, found by their keys.
func (t *Table[R]) update(batch *pgx.Batch, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns := t.Columns()
	var set []string
	for _, c := range columns {
		if !c.Key {
			set = append(set, fmt.Sprintf("%s = n.%s", c.Name, c.Name))
		}
	}
	batch.Queue(fmt.Sprintf("update %s t set %s from %s as n(%s) where %s",
		t.Name, strings.Join(set, ", "), unnest(columns), ColumnNames(columns), sameKey(columns)),
		arrays(columns, rows)...)
}

// sameKey returns the condition that a row t of the table and a row of n have the same key.
func sameKey(columns []Column) string {
	var match []string
	for _, c := range keyColumns(columns) {
		match = append(match, fmt.Sprintf("t.%s = n.%s", c.Name, c.Name))
	}
	return strings.Join(match, " and ")
}

// CopyIn inserts rows with COPY in its binary format, in which no text is escaped and no
// number is written in digits; see Change.AppendInserted. fresh says that this transaction has
// emptied the table; the rows are then written as if the table had been vacuumed.
func CopyIn(ctx context.Context, tx pgx.Tx, table AnyTable, fresh bool, rows ...[]byte) error {
	parts := []io.Reader{bytes.NewReader([]byte(copyHeader))}
	for _, part := range rows {
		parts = append(parts, bytes.NewReader(part))
	}
	parts = append(parts, bytes.NewReader(binary.BigEndian.AppendUint16(nil, 0xffff)))
	name := table.About().Name
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary, freeze %t)", name, ColumnNames(table.Columns()), fresh)
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, io.MultiReader(parts...), sql); err != nil {
		return fmt.Errorf("copy into %s: %w", name, err)
	}
	return nil
}

// copyHeader begins COPY's binary format: a signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

func appendRow[R any](out []byte, columns []Column, row *R) []byte {
	out = binary.BigEndian.AppendUint16(out, uint16(len(columns)))
	for i := range columns {
		out = columns[i].append(out, unsafe.Pointer(row))
	}
	return out
}
