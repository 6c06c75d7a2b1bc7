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
	Rules  projections.Rules // of the fold; not needed with a Filter
	State  *projections.State
	// Filter is for tables that no other process writes. It returns the names by which rows must be
	// looked up, and the rows are not locked. If it is nil, rows are looked up by all names and
	// locked.
	Filter func(kind NameKind, names []string) []string
	// At, if not nil, returns the places of rows. Then no index is needed, except that of events.
	At RowPlaces
	// AllQuarantined says that the state has all quarantined events of the log already.
	AllQuarantined bool
}

// RowPlaces returns the places where a table may have the rows that have any of these names in the row cache.
type RowPlaces func(table AnyTable, names []string) []Place

// Beginner is a connection, a pool or a transaction.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// BatchSender is a connection or a transaction.
type BatchSender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// Load adds to the state the rows that the events can touch. batch must not be empty and must be in
// the order of the log.
func (l *Loader) Load(ctx context.Context, from BatchSender, batch []events.Event) error {
	wanted := namesIn(batch)
	var absent []string                 // subscriptions that did not exist when their payments were looked up
	var noTransaction, noOrder []string // names that no payment had
	for at := range loadSteps {
		if at == stepSubscriptions && l.Filter == nil {
			noTransaction = slices.DeleteFunc(wanted[ofTransaction].unsorted(), l.State.HasTransaction)
			noOrder = slices.DeleteFunc(wanted[ofOrder].unsorted(), l.State.HasOrder)
		}
		if at == stepAllPayments && l.Filter == nil {
			absent = slices.DeleteFunc(wanted[OfSubscription].unsorted(), l.hasSubscription)
			for _, subscription := range l.Rules.Resold(l.State, batch) {
				wanted.add(OfWholeSubscription, subscription)
			}
		}
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

// LoadPaymentsOf adds all payments of these subscriptions, and the rows that belong to those payments.
func (l *Loader) LoadPaymentsOf(ctx context.Context, from BatchSender, subscriptions []string) error {
	wanted := wantedNames{}
	for _, subscription := range subscriptions {
		wanted.add(OfWholeSubscription, subscription)
	}
	for at := stepAllPayments; at < loadSteps; at++ {
		if err := l.lookUp(ctx, from, at, &pgx.Batch{}, l.namesToFind(wanted), wanted); err != nil {
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
// are added to wanted.
func (l *Loader) lookUp(ctx context.Context, from BatchSender, at loadStep, queries *pgx.Batch, names func(NameKind) []string, wanted wantedNames) error {
	for _, t := range All {
		t.queueLoad(loading{Loader: l, step: at, names: names, wanted: wanted, batch: queries})
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

// namesToFind returns a function that lists the names of a kind for one step. It filters
// each kind once, because the filter remembers the names that it has returned.
func (l *Loader) namesToFind(wanted wantedNames) func(NameKind) []string {
	lists := map[NameKind][]string{}
	return func(kind NameKind) []string {
		list, done := lists[kind]
		if !done {
			list = wanted[kind].unsorted()
			if l.Filter != nil {
				list = l.Filter(kind, list)
			}
			slices.Sort(list)
			lists[kind] = list
		}
		return list
	}
}

// namesIn returns the names in some events.
func namesIn(batch []events.Event) wantedNames {
	names := wantedNames{}
	for i := range batch {
		names.add(OfEvent, batch[i].ID)
		eachRowName(&batch[i], names.add)
	}
	return names
}

// PreferIndexes is a statement for a transaction that looks for many rows by their keys only. While
// tables fill, the statistics of Postgres are out of date, and it would otherwise read whole
// tables. Then one plan fits all batches, so each connection plans a statement once. Parallel
// workers are off, because their start would take ten times as long as a query.
const PreferIndexes = `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`
