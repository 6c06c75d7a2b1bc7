package tables

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// queueLoad queues a query for each of the table's lookups in this step. An extra table has few rows, such as sums by day:
// all of them are loaded. A table with a row for each user would need a lookup.
func (t *Table[R]) queueLoad(l loading) {
	if t.Extra && l.step == stepEvents && slices.Contains(l.Rules.Extras, t.Name) {
		t.query(l.batch, "true", "", nil, func(row R) { t.put(l.State, &row) })
	}
	tail := ""
	if l.Filter == nil && !t.InsertOnly {
		tail = " order by " + ColumnNames(keyColumns(t.Columns())) + " for update"
	}
	for _, lookup := range t.lookups {
		if lookup.step != l.step {
			continue
		}
		if args := lookup.find(l); len(args) > 0 {
			t.query(l.batch, lookup.where, tail, args, func(row R) { t.load(l, &row) })
		}
	}
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
