package store

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

func (t *Table[R]) isLookedFor() bool { return t.names != nil }

func (t *Table[R]) eachRow(state *projections.State, do func(row []byte, names rowNames)) {
	var encoded []byte
	rows := t.rows(state).Rows()
	for i := range rows {
		encoded = appendRow(encoded[:0], t.columns(), &rows[i])
		do(encoded, t.names(&rows[i]))
	}
}

func (t *Table[R]) eachChangedRow(state *projections.State, do func(row []byte, names rowNames, loaded bool, place int)) {
	var encoded []byte
	columns := t.columns()
	t.rows(state).EachChanged(func(row *R, loaded bool, place int) {
		encoded = appendRow(encoded[:0], columns, row)
		do(encoded, t.names(row), loaded, place)
	})
}

func (t *Table[R]) putRow(state *projections.State, row []byte) (out links) {
	value := valueOf[R](t.columns(), row)
	t.put(state, value)
	if t.links != nil {
		out = t.links(&value)
	}
	return out
}

func (t *Table[R]) namesOf(row []byte) rowNames {
	value := valueOf[R](t.columns(), row)
	return t.names(&value)
}

func (t *Table[R]) updateRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte]) error {
	return updateIn(ctx, tx, t.name, func(yield func(R) bool) {
		for row := range rows {
			if !yield(valueOf[R](t.columns(), row)) {
				return
			}
		}
	})
}
