package tables

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// Load locks all rows that the events can touch, in sorted order, and returns them as a State. A
// row that does not exist yet is not locked. If two transactions insert it, the second one fails
// because of its key. If a subscription or a payment appears while this one waits for a lock, all
// rows are loaded again.
//
// Each statement sees what was committed before it began. Two events that must see each
// other always share a row. So a transaction that waits here for the lock of another one
// reads the other's changes in the statements that follow.
func Load(ctx context.Context, tx pgx.Tx, schema string, rules projections.Rules, batch []events.Event) (*projections.State, error) {
	l := Loader{Schema: schema, Rules: rules, State: projections.NewState()}
	return l.State, l.Load(ctx, tx, batch)
}

// Loader adds to a State the rows that the next events can touch.
type Loader struct {
	Schema string
	Rules  projections.Rules // of the fold
	State  *projections.State
	// Filter is for tables that no other process writes, and for a state that has the rows of all events before. It returns
	// the names by which rows must be looked up, and the rows are not locked. If it is nil, rows are looked up by all
	// names and locked.
	Filter func(kind NameKind, names []string) []string
	// Licensed lists users all of whose pro payments are needed, because of rows that the state has and the tables may not.
	Licensed []string
}

// BatchSender is a connection or a transaction.
type BatchSender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// Load adds to the state the rows that the events can touch. batch must not be empty and must be in
// the order of the log.
func (l *Loader) Load(ctx context.Context, from BatchSender, batch []events.Event) error {
	all := loading{Loader: l, wanted: namesIn(batch), lists: map[NameKind][]string{}, events: batch}
	for _, user := range l.Licensed {
		all.wanted.add(OfLicensed, user)
	}
	var absent []string                 // subscriptions that did not exist when they were looked up with their payments
	var noTransaction, noOrder []string // names that no payment had
	for at := range loadSteps {
		switch {
		case l.Filter != nil:
		case at == stepSubscriptions:
			noTransaction = slices.DeleteFunc(all.wanted[ofTransaction].unsorted(), l.State.HasTransaction)
			noOrder = slices.DeleteFunc(all.wanted[ofOrder].unsorted(), l.State.HasOrder)
		case at == stepLaterPayments:
			absent = slices.DeleteFunc(slices.Clone(all.lists[OfSubscription]), l.hasSubscription)
		}
		all.step, all.batch = at, &pgx.Batch{}
		if at == stepEvents {
			QueueQuarantined(all.batch, l.Schema, l.State, batch[0].Seq, batch[len(batch)-1].Seq)
			l.queueSeenEvents(all.batch, all.names(OfEvent))
		}
		if err := all.lookUp(ctx, from); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(absent, l.hasSubscription) || slices.ContainsFunc(noTransaction, l.State.HasTransaction) || slices.ContainsFunc(noOrder, l.State.HasOrder) {
		// While this transaction waited for a lock, another one has inserted the subscription, perhaps with payments. Or it
		// has made the payment a licence of the user. Then the payment was loaded without its reversals and ledger lines.
		l.State.Reset()
		return l.Load(ctx, from, batch)
	}
	return nil
}

func (l *Loader) hasSubscription(id string) bool {
	_, has := l.State.Subscriptions.Get(id)
	return has
}

// lookUp sends the queries of all tables for this step. The names of linked rows are added to wanted.
func (l *loading) lookUp(ctx context.Context, from BatchSender) error {
	for _, t := range All {
		t.queueLoad(*l)
	}
	if l.batch.Len() == 0 {
		return nil
	}
	if err := from.SendBatch(ctx, l.batch).Close(); err != nil {
		return fmt.Errorf("load the rows (step %d): %w", l.step, err)
	}
	return nil
}

// names lists the names of a kind to look for, sorted. They are those that were wanted when the kind was first asked for,
// because the filter remembers the names that it has returned.
func (l *loading) names(kind NameKind) []string {
	list, done := l.lists[kind]
	if !done {
		list = l.fresh(kind, l.wanted[kind].unsorted())
		l.lists[kind] = list
	}
	return list
}

// laterNames lists the names of a kind that were wanted after names was called.
func (l *loading) laterNames(kind NameKind) []string {
	had := Set{}
	had.Add(l.lists[kind]...)
	list := l.fresh(kind, slices.DeleteFunc(l.wanted[kind].unsorted(), func(name string) bool { _, has := had[name]; return has }))
	l.lists[kind] = append(l.lists[kind], list...)
	return list
}

func (l *loading) fresh(kind NameKind, names []string) []string {
	if l.Filter != nil {
		names = l.Filter(kind, names)
	}
	slices.Sort(names)
	return names
}

// queueSeenEvents queues a query for the event ids that were applied before.
func (l *Loader) queueSeenEvents(batch *pgx.Batch, ids []string) {
	if len(ids) == 0 {
		return
	}
	batch.Queue("select event_id from processed_event where event_id = any($1)", Texts(ids)).Query(func(rows pgx.Rows) error {
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range seen {
			l.State.Events.Load(id)
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

// lookup finds rows of one table.
type lookup struct {
	step  loadStep
	where string
	by    []NameKind               // the kinds of the names by which the rows are found; they are $1, $2, …
	args  func(loading) [][]string // if not nil, these are $1, $2, …
}

// loadStep orders the lookups: the rows that one step finds have the names for the next.
type loadStep int

const (
	stepEvents        loadStep = iota // payments that the events name
	stepSubscriptions                 // subscriptions and their unclaimed payments
	stepLaterPayments                 // the payments of subscriptions that say something else of them
	stepPeriods                       // the other payments of the periods of all these
	stepUsers                         // the rows of the users; reversals and ledger lines of the payments
	stepLicenses                      // all pro payments of users whose licence can change
	stepLicensed                      // the subscriptions with which these licences end
	loadSteps
)

// loading is one step of a load. The queries of all tables are sent together.
type loading struct {
	*Loader
	step   loadStep
	wanted wantedNames // gets the names of linked rows, for the next steps
	batch  *pgx.Batch  // gets the queries
	events []events.Event
	lists  map[NameKind][]string // see names
}

// find returns the arguments of a query for the rows, or none if there is no name.
func (k lookup) find(l loading) (args []any) {
	var lists [][]string
	if k.args != nil {
		lists = k.args(l)
	} else {
		for _, kind := range k.by {
			lists = append(lists, l.names(kind))
		}
	}
	if !slices.ContainsFunc(lists, func(list []string) bool { return len(list) > 0 }) {
		return nil
	}
	for _, list := range lists {
		args = append(args, Texts(list))
	}
	return args
}

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

// PreferIndexes is a statement for a transaction that looks for many rows by their keys only. While
// tables fill, the statistics of Postgres are out of date, and it would otherwise read whole
// tables. Then one plan fits all batches, so each connection plans a statement once. Parallel
// workers are off, because their start would take ten times as long as a query.
const PreferIndexes = `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`
