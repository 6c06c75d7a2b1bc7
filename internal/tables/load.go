package tables

import (
	"context"
	"fmt"
	"slices"
	"time"

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
func Load(
	ctx context.Context, tx pgx.Tx, schema string, rules projections.Rules, batch []events.Event,
) (*projections.State, error) {
	l := Loader{Schema: schema, Rules: rules, State: projections.NewState()}
	return l.State, l.Add(ctx, tx, batch)
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

// Add adds the rows that the events can touch. batch must not be empty and must be in the order of the log.
//
// The rows of one round trip have the names for the next. Within a round trip rows are looked up in the order of All, in
// which they are locked.
func (l *Loader) Add(ctx context.Context, from BatchSender, batch []events.Event) error {
	r := &reading{loader: l, from: from, wanted: namesIn(batch), queries: &pgx.Batch{}}
	for _, user := range l.Licensed {
		r.wanted.add(OfLicensed, user)
	}

	QueueQuarantined(r.queries, l.Schema, l.State, batch[0].Seq, batch[len(batch)-1].Seq)
	r.findEvents(r.names(OfEvent, nil))
	transactions, orders := r.names(ofTransaction, nil), r.names(ofOrder, nil)
	r.find(Payments, "provider_payment_id in ("+namedPayments+")", transactions, orders)
	r.findExtras()
	if err := r.send(ctx, "the payments that the events name"); err != nil {
		return err
	}
	noTransaction, noOrder := without(transactions, l.State.HasTransaction), without(orders, l.State.HasOrder)

	subscriptions := r.names(OfSubscription, nil)
	r.find(SubscriptionStates, "subscription_id = any($1)", subscriptions)
	r.find(Payments, "provider_payment_id in ("+unclaimedPayments+")", subscriptions)
	if err := r.send(ctx, "the subscriptions and their unclaimed payments"); err != nil {
		return err
	}
	noSubscription := without(subscriptions, l.hasSubscription)

	changed, since := laterPaymentsOf(l.Rules.Since(l.State, batch))
	r.find(Payments, "provider_payment_id in ("+laterPayments+")", changed, since)
	if err := r.send(ctx, "the payments of subscriptions that say something else of them"); err != nil {
		return err
	}

	periodic, ends := periodsOf(l.State.Periods(batch))
	r.find(Payments, "provider_payment_id in ("+paymentsOfPeriods+")", periodic, ends)
	if err := r.send(ctx, "the other payments of the periods"); err != nil {
		return err
	}

	users, linked, payments := r.names(OfUser, nil), r.names(OfSubscription, subscriptions), r.names(ofPaymentID, nil)
	r.find(CurrentSubscriptions, "user_id = any($1)", users)
	r.find(Credits, "user_id = any($1)", users)
	r.find(Licenses, "user_id = any($1)", users)
	r.find(SubscriptionStates, "subscription_id = any($1)", linked)
	r.find(SubscriptionStates, "subscription_id in ("+subscriptionsOfUsers+")", users)
	r.find(Reversals, "provider_payment_id = any($1)", payments)
	r.find(LedgerLines, "provider_payment_id = any($1)", payments)
	if err := r.send(ctx, "the rows of the users, and the reversals and ledger lines of the payments"); err != nil {
		return err
	}

	for _, user := range l.Rules.Licensed(l.State, batch) {
		r.wanted.add(OfLicensed, user)
	}
	r.find(Payments, "user_id = any($1) and kind = 'pro'", r.names(OfLicensed, nil))
	if err := r.send(ctx, "all pro payments of users whose licence can change"); err != nil {
		return err
	}

	r.find(SubscriptionStates, "subscription_id = any($1)", r.names(OfSubscription, append(subscriptions, linked...)))
	if err := r.send(ctx, "the subscriptions with which these licences end"); err != nil {
		return err
	}

	appeared := slices.ContainsFunc(noTransaction, l.State.HasTransaction) ||
		slices.ContainsFunc(noOrder, l.State.HasOrder) || slices.ContainsFunc(noSubscription, l.hasSubscription)
	if l.Filter == nil && appeared {
		// While this transaction waited for a lock, another one has inserted the subscription, perhaps with payments. Or it
		// has made the payment a licence of the user. Then the payment was loaded without its reversals and ledger lines.
		l.State.Reset()
		return l.Add(ctx, from, batch)
	}
	return nil
}

func (l *Loader) hasSubscription(id string) bool {
	_, has := l.State.Subscriptions.Get(id)
	return has
}

// without returns the names that are not there.
func without(names []string, has func(name string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), has)
}

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

// Each part uses an index of its own. With one "or" of all conditions, Postgres would read
// the whole index of the key where rows are ordered by it.
const (
	namedPayments = `select provider_payment_id from payment_facts where provider_payment_id = any($1)
		union all select provider_payment_id from payment_facts where provider_payment_id = any($2)
		union all select provider_payment_id from payment_facts where transaction_id <> provider_payment_id and transaction_id = any($1)
		union all select provider_payment_id from payment_facts where order_id <> provider_payment_id and order_id = any($2)`
	unclaimedPayments = `select provider_payment_id from payment_facts where user_id is null and subscription_id = any($1)`
	laterPayments     = `select p.provider_payment_id from unnest($1::text[], $2::text[]) as n(subscription, since)
		join payment_facts p on p.subscription_id = n.subscription and p.occurred_at >= n.since::timestamptz`
	paymentsOfPeriods = `select p.provider_payment_id from unnest($1::text[], $2::text[]) as n(subscription, ends)
		join payment_facts p on p.subscription_id = n.subscription and p.period_end = n.ends::timestamptz`
	// "is not null" lets Postgres use the partial index, also for a long list.
	subscriptionsOfUsers = `select subscription_id from subscription_facts where user_id is not null and user_id = any($1)`
)

// laterPaymentsOf returns the arguments of laterPayments.
func laterPaymentsOf(changed map[string]time.Time) (subscriptions, since []string) {
	for subscription, from := range changed {
		subscriptions, since = append(subscriptions, subscription), append(since, from.Format(time.RFC3339Nano))
	}
	return subscriptions, since
}

// periodsOf returns the arguments of paymentsOfPeriods.
func periodsOf(subscriptions []string, ends []time.Time) (_, texts []string) {
	for _, end := range ends {
		texts = append(texts, end.Format(time.RFC3339Nano))
	}
	return subscriptions, texts
}

// PreferIndexes is a statement for a transaction that looks for many rows by their keys only. While
// tables fill, the statistics of Postgres are out of date, and it would otherwise read whole
// tables. Then one plan fits all batches, so each connection plans a statement once. Parallel
// workers are off, because their start would take ten times as long as a query.
const PreferIndexes = `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`
