package tables

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// IsLookedFor implements AnyTable, as do the methods that follow.
func (t *Table[R]) IsLookedFor() bool { return t.names != nil }

func (t *Table[R]) EachRow(state *projections.State, do func(row []byte, names RowNames)) {
	var encoded []byte
	rows := t.rows(state).Rows()
	for i := range rows {
		encoded = appendRow(encoded[:0], t.Columns(), &rows[i])
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

func (t *Table[R]) PutRow(state *projections.State, row []byte) (out Links) {
	value := valueOf[R](t.Columns(), row)
	t.put(state, value)
	if t.links != nil {
		out = t.links(&value)
	}
	return out
}

func (t *Table[R]) NamesOf(row []byte) RowNames {
	value := valueOf[R](t.Columns(), row)
	return t.names(&value)
}

func (t *Table[R]) UpdateRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte]) error {
	return updateIn(ctx, tx, t.Name, func(yield func(R) bool) {
		for row := range rows {
			if !yield(valueOf[R](t.Columns(), row)) {
				return
			}
		}
	})
}
