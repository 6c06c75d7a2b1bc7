package tables

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// reading reads the rows of a batch of events. The queries of one round trip are sent together.
type reading struct {
	loader  *Loader
	from    BatchSender
	wanted  wantedNames // of the events, and of the rows that were found
	queries *pgx.Batch
}

// names lists the names of a kind that are wanted by now and are not among those before, sorted.
func (r *reading) names(kind NameKind, before []string) []string {
	had := Set{}
	had.Add(before...)
	list := slices.DeleteFunc(r.wanted[kind].unsorted(), func(name string) bool { _, has := had[name]; return has })
	if r.loader.Filter != nil {
		list = r.loader.Filter(kind, list)
	}
	slices.Sort(list)
	return list
}

// findEvents queues a query for the event ids that were applied before.
func (r *reading) findEvents(ids []string) {
	if len(ids) == 0 {
		return
	}
	r.queries.Queue("select event_id from processed_event where event_id = any($1)", Texts(ids)).Query(func(rows pgx.Rows) error {
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range seen {
			r.loader.State.Events.Load(id)
		}
		return err
	})
}

// find queues a query for the rows of a table. The lists are $1, $2, …; if all are empty, no row is looked for.
func (r *reading) find(t AnyTable, where string, lists ...[]string) {
	if !slices.ContainsFunc(lists, func(list []string) bool { return len(list) > 0 }) {
		return
	}
	args := make([]any, len(lists))
	for i, list := range lists {
		args[i] = Texts(list)
	}
	if r.loader.Filter == nil && !t.About().InsertOnly {
		where += " order by " + ColumnNames(keyColumns(t.Columns())) + " for update"
	}
	t.queueLoad(r, where, args)
}

// findExtras queues queries for all rows of the extra tables. They have few rows, such as sums by day. A table with a row
// for each user would be looked up by users, in Add.
func (r *reading) findExtras() {
	for _, t := range All {
		if t.About().Extra && slices.Contains(r.loader.Rules.Extras, t.About().Name) {
			t.queueLoad(r, "true", nil)
		}
	}
}

// send sends the queries. When it returns, the state has their rows, and wanted the names of those that belong to them.
func (r *reading) send(ctx context.Context, what string) error {
	if r.queries.Len() == 0 {
		return nil
	}
	if err := r.from.SendBatch(ctx, r.queries).Close(); err != nil {
		return fmt.Errorf("load %s: %w", what, err)
	}
	r.queries = &pgx.Batch{}
	return nil
}

func (t *Table[R]) queueLoad(r *reading, where string, args []any) {
	sql := fmt.Sprintf("select %s from %s where %s", ColumnNames(t.Columns()), t.Name, where)
	r.queries.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanRow[R](t.Columns()))
		for _, row := range found {
			t.put(r.loader.State, &row)
			if t.links == nil {
				continue
			}
			for _, to := range t.links(&row) {
				r.wanted.add(to.kind, to.Name)
			}
		}
		return err
	})
}

// QueueQuarantined queues a query for the quarantined events of the schema's log, from sequence
// from to sequence until. It adds their sequences to the state.
func QueueQuarantined(batch *pgx.Batch, schema string, state *projections.State, from, until uint64) {
	batch.Queue("select stream_seq from payfold.quarantined_event join payfold.schema_state using (log_id) where schema_name = $1 and stream_seq between $2 and $3",
		schema, int64(from), int64(until)).Query(func(rows pgx.Rows) error {
		quarantined, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, seq := range quarantined {
			state.Quarantined[uint64(seq)] = true
		}
		return err
	})
}
