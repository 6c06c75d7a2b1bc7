package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// load returns the State that the events can touch, every row of it locked.
// Rows are locked in sorted order; rows that do not exist yet are guarded by
// their keys when they are inserted.
//
// Each statement sees what was committed before it began, and two events that
// must see each other always share a row, so whoever waits for a lock here
// reads the other's work in the statements that follow.
func load(ctx context.Context, tx pgx.Tx, schema string, batch []events.Event) (*projections.State, error) {
	l := loader{schema: schema, state: projections.NewState()}
	return l.state, l.load(ctx, tx, batch)
}

// loader brings a State to all that the next events can touch.
type loader struct {
	schema string
	state  *projections.State
	alone  *alone // nil where others write these tables, too: then rows are locked
}

// sender is a connection or a transaction.
type sender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// load takes three steps: what the events name themselves, and what that turned out
// to be; the subscriptions and payments that belong to that; then what belongs to the users found there. A
// payment comes with what it was merged into or with, its subscription, all its
// reversals and its ledger lines; a user with all rows; a subscription with its
// unclaimed payments, or where an event starts it with all of them.
func (l *loader) load(ctx context.Context, from sender, batch []events.Event) error {
	state, named := l.state, namesIn(batch)
	subscriptions, merged := set{}, set{}
	payments := map[string]projections.Payment{} // those that the events may change
	found := func(r projections.Payment) {
		state.LoadPayment(r)
		payments[r.ProviderPaymentID] = r
		subscriptions.add(r.SubscriptionID)
		merged.add(r.MergedInto)
		named.users.add(r.UserID, r.Buyer, r.OtherUserID)
	}
	first := &pgx.Batch{}
	if l.alone == nil { // else all that is refused came with the new state
		queuePoison(first, l.schema, state, batch[0].Seq, batch[len(batch)-1].Seq)
	}
	first.Queue("select event_id from processed_event where event_id = any($1)", l.ask("event", named.events)).Query(func(rows pgx.Rows) error {
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range seen {
			state.Events.Load(id)
		}
		return err
	})
	query(first, "payment", "provider_payment_id in ("+namedPayments+")",
		l.lock("provider_payment_id"), []any{l.ask("payment", named.payments)}, found)
	if err := from.SendBatch(ctx, first).Close(); err != nil {
		return fmt.Errorf("load what the events name: %w", err)
	}

	if len(merged) > 0 {
		targets := &pgx.Batch{}
		query(targets, "payment", "provider_payment_id = any($1)", l.lock("provider_payment_id"), []any{merged.list()}, found)
		if err := from.SendBatch(ctx, targets).Close(); err != nil {
			return fmt.Errorf("load what the named payments turned out to be: %w", err)
		}
	}

	second := &pgx.Batch{}
	subscriptions.add(named.subscriptions.list()...)
	asked := l.ask("subscription", subscriptions)
	query(second, "subscription_state", "subscription_id = any($1)", l.lock("subscription_id"), []any{asked},
		func(r projections.SubscriptionState) {
			state.LoadSubscription(r)
			named.users.add(r.UserID)
		})
	query(second, "payment", "provider_payment_id in ("+belongingPayments+")", l.lock("provider_payment_id"),
		[]any{asked, l.ask("start", named.starts)}, found)
	if err := from.SendBatch(ctx, second).Close(); err != nil {
		return fmt.Errorf("load what belongs to that: %w", err)
	}

	third := &pgx.Batch{}
	users := l.ask("user", named.users)
	// The user's row of subscription comes before the user's subscriptions: who
	// adds one writes that row too.
	query(third, "subscription", "user_id = any($1)", l.lock("user_id"), []any{users},
		func(r projections.Subscription) { state.Current.Load(r.UserID, r) })
	query(third, "credits", "user_id = any($1)", l.lock("user_id"), []any{users},
		func(r projections.Credits) { state.Credits.Load(r.UserID, r) })
	query(third, "pro_license", "user_id = any($1)", l.lock("user_id"), []any{users},
		func(r projections.ProLicense) { state.Licenses.Load(r.UserID, r) })
	// The index is of rows with a user only, and Postgres does not infer that of a long list.
	query(third, "subscription_state", "subscription_id in (select subscription_id from subscription_state where user_id is not null and user_id = any($1))",
		l.lock("subscription_id"), []any{users}, state.LoadSubscription)
	query(third, "payment", "user_id = any($1) and kind = 'pro'", l.lock("provider_payment_id"), []any{users}, state.LoadPayment)
	ids, granted, grantedTo := set{}, []string{}, []string{}
	for id, p := range payments {
		ids.add(id, p.MergedID)
		for _, user := range []string{cmp.Or(p.UserID, p.Buyer), p.OtherUserID} {
			for _, name := range []string{id, p.MergedID} {
				if user != "" && name != "" {
					granted, grantedTo = append(granted, name), append(grantedTo, user)
				}
			}
		}
	}
	query(third, "reversal", "provider_payment_id = any($1)", "", []any{ids.list()}, state.LoadReversal)
	// In pairs: a user's lines may be many, and a payment has no index of its own.
	query(third, "credit_ledger", "(user_id, provider_payment_id) in (select * from unnest($1::text[], $2::text[]))", "",
		[]any{grantedTo, granted}, state.Ledger.Load)
	if err := from.SendBatch(ctx, third).Close(); err != nil {
		return fmt.Errorf("load what belongs to the users: %w", err)
	}
	return nil
}

// queuePoison asks for the refused events of a part of the log.
func queuePoison(batch *pgx.Batch, schema string, state *projections.State, from, until uint64) {
	batch.Queue("select stream_seq from payfold.poison join payfold.schema_state using (log_id) where schema_name = $1 and stream_seq between $2 and $3",
		schema, int64(from), int64(until)).Query(func(rows pgx.Rows) error {
		poison, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, seq := range poison {
			state.Poison[uint64(seq)] = true
		}
		return err
	})
}

// Each condition by its own index: an "or" of them is answered by walking through
// the whole key when rows are wanted in its order.
const (
	namedPayments = `select provider_payment_id from payment where provider_payment_id = any($1)
		union all select provider_payment_id from payment where transaction_id = any($1)
		union all select provider_payment_id from payment where first_of_order and order_id = any($1)`
	belongingPayments = `select provider_payment_id from payment where user_id is null and subscription_id = any($1)
		union all select provider_payment_id from payment where subscription_id is not null and subscription_id = any($2)`
)

func (l *loader) lock(key string) string {
	if l.alone != nil {
		return ""
	}
	return " order by " + key + " for update"
}

// ask lists the names to look for.
func (l *loader) ask(kind string, names set) []string {
	if l.alone != nil {
		return l.alone.ask(kind, names)
	}
	return names.list()
}

func query[R any](batch *pgx.Batch, table, where, tail string, args []any, each func(R)) {
	sql := fmt.Sprintf("select %s from %s where %s%s", names(columnsOf[R]()), table, where, tail)
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scan[R])
		for _, row := range found {
			each(row)
		}
		return err
	})
}

type set map[string]struct{}

func (s set) add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s[text] = struct{}{}
		}
	}
}

func (s set) list() []string {
	out := make([]string, 0, len(s))
	for text := range s {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// named is what some events name.
type named struct {
	events, payments, subscriptions, users set

	starts set // the subscriptions that an event starts
}

func namesIn(batch []events.Event) named {
	n := named{events: set{}, payments: set{}, subscriptions: set{}, users: set{}, starts: set{}}
	sets := [...]set{ofEvent: n.events, ofPayment: n.payments, ofSubscription: n.subscriptions, ofUser: n.users}
	for _, e := range batch {
		eachName(e, func(kind nameKind, name string) { sets[kind].add(name) })
		if projections.StartsSubscription(e) {
			n.starts.add(e.SubscriptionID)
		}
	}
	return n
}
