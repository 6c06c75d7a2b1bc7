package tables

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// Load locks all rows that the events can touch, in sorted order, and returns them as a
// State. A row that does not exist yet is not locked; its key fails the second
// transaction that inserts it.
//
// Each statement sees what was committed before it began. Two events that must see each
// other always share a row. So a transaction that waits here for the lock of another one
// reads the other's changes in the statements that follow.
func Load(ctx context.Context, tx pgx.Tx, schema string, batch []events.Event) (*projections.State, error) {
	l := Loader{Schema: schema, State: projections.NewState()}
	return l.State, l.Load(ctx, tx, batch)
}

// Loader adds to a State the rows that the next events can touch.
type Loader struct {
	Schema string
	State  *projections.State
	// Filter is for tables that no other process writes. It returns the names by which rows
	// have to be looked for, and the rows are not locked. Where it is nil, rows are looked
	// for by all names and locked.
	Filter func(kind NameKind, names []string) []string
	// AllQuarantined says that the state has all quarantined events of the log already.
	AllQuarantined bool
}

// loadStep orders the lookups: the rows that one step finds have the names for the next.
type loadStep int

const (
	stepEvents        loadStep = iota // payments that the events name
	stepMerged                        // the payments that those were merged into
	stepSubscriptions                 // subscriptions and their payments
	stepUsers                         // the rows of the users; reversals and ledger lines of the payments
	stepLicenses                      // all pro payments of users whose licence can change
	loadSteps
)

// BatchSender is a connection or a transaction.
type BatchSender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// Load adds to the state the rows that the events can touch. batch is not empty and in
// the order of the log.
func (l *Loader) Load(ctx context.Context, from BatchSender, batch []events.Event) error {
	wanted := namesIn(batch)
	for at := range loadSteps {
		names := l.namesToFind(wanted)
		queries := &pgx.Batch{}
		if at == stepEvents {
			if !l.AllQuarantined {
				QueueQuarantined(queries, l.Schema, l.State, batch[0].Seq, batch[len(batch)-1].Seq)
			}
			l.queueSeenEvents(queries, names(OfEvent))
		}
		if err := l.lookUp(ctx, from, at, queries, names, wanted); err != nil {
			return err
		}
	}
	return nil
}

// LoadLicenses adds all claimed pro payments of these users, without the rows that belong to
// those payments. It does not filter the users.
func (l *Loader) LoadLicenses(ctx context.Context, from BatchSender, users []string) error {
	return l.lookUp(ctx, from, stepLicenses, &pgx.Batch{}, func(kind NameKind) []string {
		if kind == OfLicensed {
			return users
		}
		return nil
	}, wantedNames{})
}

// lookUp sends the queries and those of all tables for this step. The names of linked rows
// are added to next.
func (l *Loader) lookUp(ctx context.Context, from BatchSender, at loadStep, queries *pgx.Batch, names func(NameKind) []string, next wantedNames) error {
	for _, t := range All {
		t.queueLoad(l, queries, at, names, next)
	}
	if queries.Len() == 0 {
		return nil
	}
	if err := from.SendBatch(ctx, queries).Close(); err != nil {
		return fmt.Errorf("load the rows (step %d): %w", at, err)
	}
	return nil
}

// queueSeenEvents queues a query for the event ids that were applied before.
func (l *Loader) queueSeenEvents(batch *pgx.Batch, ids []string) {
	batch.Queue("select event_id from processed_event where event_id = any($1)", ids).Query(func(rows pgx.Rows) error {
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range seen {
			l.State.Events.Load(id)
		}
		return err
	})
}

// queueLoad queues a query for each of the table's lookups in this step. The names of
// linked rows are added to next.
func (t *Table[R]) queueLoad(l *Loader, batch *pgx.Batch, at loadStep, names func(NameKind) []string, next wantedNames) {
	tail := ""
	if l.Filter == nil && !t.InsertOnly {
		tail = " order by " + keyNames(t.Columns()) + " for update"
	}
	for _, lookup := range t.lookups {
		if lookup.step != at {
			continue
		}
		var args []any
		if lookup.args != nil {
			args = lookup.args(l.State)
		}
		for _, kind := range lookup.by {
			args = append(args, names(kind))
		}
		if !slices.ContainsFunc(args, func(arg any) bool { return len(arg.([]string)) > 0 }) {
			continue
		}
		t.query(batch, lookup.where, tail, args, func(row R) {
			t.put(l.State, row)
			if t.links == nil {
				return
			}
			for _, to := range t.links(&row) {
				next.add(to.kind, to.Name)
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

// QueueQuarantined queues a query that adds to the state the sequences, from until
// until, of the events that are quarantined in the schema's log.
func QueueQuarantined(batch *pgx.Batch, schema string, state *projections.State, from, until uint64) {
	batch.Queue("select stream_seq from payfold.poison join payfold.schema_state using (log_id) where schema_name = $1 and stream_seq between $2 and $3",
		schema, int64(from), int64(until)).Query(func(rows pgx.Rows) error {
		quarantined, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, seq := range quarantined {
			state.Poison[uint64(seq)] = true
		}
		return err
	})
}

// namesToFind returns a function that lists the names of a kind for one step. It filters
// each kind once, because the filter remembers the names that it has returned.
func (l *Loader) namesToFind(wanted wantedNames) func(NameKind) []string {
	lists := map[NameKind][]string{}
	return func(kind NameKind) []string {
		list, done := lists[kind]
		if !done {
			list = wanted[kind].List()
			if l.Filter != nil {
				list = l.Filter(kind, list)
			}
			lists[kind] = list
		}
		return list
	}
}

// wantedNames are the names by which rows are looked for, by kind.
type wantedNames map[NameKind]Set

func (w wantedNames) add(kind NameKind, name string) {
	if w[kind] == nil {
		w[kind] = Set{}
	}
	w[kind].Add(name)
}

// namesIn returns the names in some events.
func namesIn(batch []events.Event) wantedNames {
	names := wantedNames{}
	for _, e := range batch {
		EachName(e, names.add)
		if projections.HasEffect(e.Type) {
			names.add(ofTransaction, e.Transaction)
			names.add(ofOrder, e.Order)
		}
		if projections.StartsSubscription(e) {
			names.add(ofStartedSubscription, e.SubscriptionID)
		}
	}
	return names
}

// Set is a set of texts.
type Set map[string]struct{}

// Add adds the texts that are not empty.
func (s Set) Add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s[text] = struct{}{}
		}
	}
}

// List returns the texts, sorted.
func (s Set) List() []string {
	out := make([]string, 0, len(s))
	for text := range s {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// PreferIndexes is a statement for a transaction that looks for many rows by their keys
// only. While tables fill, the statistics of Postgres are out of date, and it would
// otherwise read whole tables. Then one plan fits all batches, so each connection plans a
// statement once. To start parallel workers would take ten times as long as a query.
const PreferIndexes = `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`
