package tables

import (
	"context"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// FoundByName implements AnyTable, as do the other methods of this file.
func (t *Table[R]) FoundByName() bool { return t.names != nil }

func (t *Table[R]) EachRow(state *projections.State, do func(row []byte, names RowNames)) {
	var encoded []byte
	columns, rows := t.Columns(), t.rows(state).Rows()
	for i := range rows {
		encoded = appendRow(encoded[:0], columns, &rows[i])
		do(encoded, t.names(&rows[i]))
	}
}

func (t *Table[R]) EachChangedRow(state *projections.State, do func(row []byte, names RowNames, loaded bool, index int)) {
	var encoded []byte
	columns := t.Columns()
	t.rows(state).EachChanged(func(row *R, loaded bool, index int) {
		encoded = appendRow(encoded[:0], columns, row)
		do(encoded, t.names(row), loaded, index)
	})
}

func (t *Table[R]) RowReader() RowReader { return &rowReader[R]{table: t} }

func (t *Table[R]) UpdateRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte]) error {
	return t.updateAll(ctx, tx, t.decoded(rows))
}

func (t *Table[R]) decoded(rows iter.Seq[[]byte]) iter.Seq[R] {
	return func(yield func(R) bool) {
		reader := rowReader[R]{table: t}
		for row := range rows {
			if !yield(*reader.decode(row)) {
				return
			}
		}
	}
}

// RowReader decodes rows of one table, each encoded as one row of COPY's binary format. It is
// not safe for concurrent use.
type RowReader interface {
	// Put adds a row to the state, as the database has it, and returns the names of the
	// rows that belong to it.
	Put(state *projections.State, row []byte) Links
	Names(row []byte) RowNames
}

type rowReader[R any] struct {
	table *Table[R]
	texts texts
	row   R // the last decoded row; it is kept here so that calls do not allocate
}

func (r *rowReader[R]) Put(state *projections.State, row []byte) (links Links) {
	value := r.decode(row)
	r.table.put(state, value)
	if r.table.links != nil {
		links = r.table.links(value)
	}
	return links
}

func (r *rowReader[R]) Names(row []byte) RowNames { return r.table.names(r.decode(row)) }

// decode returns the row until the next call.
func (r *rowReader[R]) decode(row []byte) *R {
	var empty R
	r.row = empty
	decodeRow(&r.row, r.table.Columns(), row, r.texts.copy(row))
	return &r.row
}

// texts copies bytes into strings, many of which share one piece of memory.
type texts struct{ last strings.Builder }

// textsSize is enough for some tens of rows. All of their texts stay in memory as long as one of
// them is used.
const textsSize = 8 << 10

func (t *texts) copy(b []byte) string {
	if t.last.Cap()-t.last.Len() < len(b) {
		t.last = strings.Builder{}
		t.last.Grow(max(textsSize, len(b)))
	}
	begin := t.last.Len()
	t.last.Write(b)
	return t.last.String()[begin:]
}
