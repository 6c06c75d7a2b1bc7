package tables

import (
	"context"
	"iter"

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

func (t *Table[R]) EachChangedRow(state *projections.State, do func(row []byte, names RowNames, loaded bool, place int)) {
	var encoded []byte
	columns := t.Columns()
	t.rows(state).EachChanged(func(row *R, loaded bool, place int) {
		encoded = appendRow(encoded[:0], columns, row)
		do(encoded, t.names(row), loaded, place)
	})
}

func (t *Table[R]) PutRow(state *projections.State, row []byte) (links Links) {
	value := decodeRow[R](t.Columns(), row)
	t.put(state, value)
	if t.links != nil {
		links = t.links(&value)
	}
	return links
}

func (t *Table[R]) NamesOf(row []byte) RowNames {
	value := decodeRow[R](t.Columns(), row)
	return t.names(&value)
}

func (t *Table[R]) UpdateRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte]) error {
	columns := t.Columns()
	return updateAll(ctx, tx, t.Name, columns, func(yield func(R) bool) {
		for row := range rows {
			if !yield(decodeRow[R](columns, row)) {
				return
			}
		}
	})
}
