package tables

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// queueLoad queues a query for each of the table's lookups in this step.
func (t *Table[R]) queueLoad(l loading) {
	tail := ""
	if l.Filter == nil && !t.InsertOnly {
		tail = " order by " + ColumnNames(keyColumns(t.Columns())) + " for update"
	}
	for _, lookup := range t.lookups {
		if lookup.step != l.step {
			continue
		}
		if l.At != nil {
			t.queueAt(l, lookup.inCache(l))
		} else if args := lookup.find(l); len(args) > 0 {
			t.query(l.batch, lookup.where, tail, args, func(row R) { t.load(l, &row) })
		}
	}
}

// queueAt queues a query for the rows that have any of these names in the row cache, by their places.
func (t *Table[R]) queueAt(l loading, names Set) {
	places := l.At(t, names.unsorted())
	if len(places) == 0 {
		return
	}
	t.query(l.batch, "ctid = any($1)", "", []any{placeArray(places)}, func(row R) {
		if has := t.names(&row); slices.ContainsFunc(has[:], names.has) { // otherwise another row has the place now
			t.load(l, &row)
		}
	})
}

func (t *Table[R]) load(l loading, row *R) {
	t.put(l.State, row)
	if t.links == nil {
		return
	}
	for _, to := range t.links(row) {
		l.wanted.add(to.kind, to.Name)
	}
}

// QueueAll implements AnyTable.
func (t *Table[R]) QueueAll(batch *pgx.Batch, state *projections.State) {
	t.query(batch, "true", "", nil, func(row R) { t.put(state, &row) })
}

func (t *Table[R]) query(batch *pgx.Batch, where, tail string, args []any, each func(R)) {
	sql := fmt.Sprintf("select %s from %s where %s%s", ColumnNames(t.Columns()), t.Name, where, tail)
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanRow[R](t.Columns()))
		for _, row := range found {
			each(row)
		}
		return err
	})
}
