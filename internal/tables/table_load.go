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
	if l.lock && !t.InsertOnly {
		tail = " order by " + keyNames(t.Columns()) + " for update"
	}
	for _, lookup := range t.lookups {
		if lookup.step != l.step {
			continue
		}
		var args []any
		if lookup.args != nil {
			args = lookup.args(l.state)
		}
		for _, kind := range lookup.by {
			args = append(args, l.names(kind))
		}
		if !slices.ContainsFunc(args, func(arg any) bool { return len(arg.([]string)) > 0 }) {
			continue
		}
		for i, arg := range args {
			args[i] = Texts(arg.([]string))
		}
		t.query(l.batch, lookup.where, tail, args, func(row R) {
			t.put(l.state, row)
			if t.links == nil {
				return
			}
			for _, to := range t.links(&row) {
				l.found.add(to.kind, to.Name)
			}
		})
	}
}

// QueueAll implements AnyTable.
func (t *Table[R]) QueueAll(batch *pgx.Batch, state *projections.State) {
	t.query(batch, "true", "", nil, func(row R) { t.put(state, row) })
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
