package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// load returns the State that the events can touch, every row of it locked, in
// two steps: what the events name themselves, then what belongs to the users
// and subscriptions found there. Rows are locked in sorted order; rows that do
// not exist yet are guarded by their keys when they are inserted.
//
// Each statement sees what was committed before it began, and two events that
// must see each other always share a row, so whoever waits for a lock here
// reads the other's work in the statements that follow.
func load(ctx context.Context, tx pgx.Tx, schema string, batch []events.Event) (*projections.State, error) {
	state := projections.NewState()
	wanted, found := newKeys(batch), set{} // found: payments

	first := &pgx.Batch{}
	first.Queue("select stream_seq from payfold.poison join payfold.schema_state using (log_id) where schema_name = $1 and stream_seq = any($2)",
		schema, sequences(batch)).Query(func(rows pgx.Rows) error {
		poison, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, seq := range poison {
			state.Poison[uint64(seq)] = true
		}
		return err
	})
	query(first, "processed_event", "event_id = any($1)", "", []any{wanted.events.list()},
		func(r projections.ProcessedEvent) { state.Events.Load(r.EventID, r) })
	query(first, "subscription_state", "subscription_id = any($1)", forUpdate("subscription_id"), []any{wanted.subscriptions.list()},
		func(r projections.SubscriptionState) {
			state.LoadSubscription(r)
			wanted.users.add(r.UserID)
		})
	query(first, "payment", "provider_payment_id = any($1) or transaction_id = any($1) or (first_of_order and order_id = any($1))",
		forUpdate("provider_payment_id"), []any{wanted.payments.list()},
		func(r projections.Payment) {
			state.LoadPayment(r)
			found.add(r.ProviderPaymentID)
			wanted.users.add(r.UserID)
		})
	if err := tx.SendBatch(ctx, first).Close(); err != nil {
		return nil, fmt.Errorf("load what the events name: %w", err)
	}

	second := &pgx.Batch{}
	users := []any{wanted.users.list()}
	// The user's row of subscription comes before the user's subscriptions: who
	// adds one writes that row too.
	query(second, "subscription", "user_id = any($1)", forUpdate("user_id"), users,
		func(r projections.Subscription) { state.Current.Load(r.UserID, r) })
	query(second, "credits", "user_id = any($1)", forUpdate("user_id"), users,
		func(r projections.Credits) { state.Credits.Load(r.UserID, r) })
	query(second, "pro_license", "user_id = any($1)", forUpdate("user_id"), users,
		func(r projections.ProLicense) { state.Licenses.Load(r.UserID, r) })
	query(second, "subscription_state", "user_id = any($1)", forUpdate("subscription_id"), users, state.LoadSubscription)
	query(second, "payment", "user_id is null and subscription_id = any($1) or user_id = any($2) and kind = 'pro'",
		forUpdate("provider_payment_id"), []any{wanted.subscriptions.list(), wanted.users.list()}, state.LoadPayment)
	query(second, "reversal", `provider_payment_id = any($1) or provider_payment_id in (
			select provider_payment_id from payment where user_id is null and subscription_id = any($2))`, "",
		[]any{found.list(), wanted.subscriptions.list()}, state.LoadReversal)
	if wanted.reversals {
		query(second, "credit_ledger", "user_id = any($1) and provider_payment_id = any($2)", "",
			[]any{wanted.users.list(), found.list()}, state.Ledger.Load)
	}
	if err := tx.SendBatch(ctx, second).Close(); err != nil {
		return nil, fmt.Errorf("load what belongs to them: %w", err)
	}
	return state, nil
}

func sequences(batch []events.Event) []int64 {
	out := make([]int64, len(batch))
	for i, e := range batch {
		out[i] = int64(e.Seq)
	}
	return out
}

func forUpdate(key string) string { return " order by " + key + " for update" }

func query[R any](batch *pgx.Batch, table, where, tail string, args []any, each func(R)) {
	sql := fmt.Sprintf("select %s from %s where %s%s", names(columnsOf[R](), ""), table, where, tail)
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

type keys struct {
	events, payments, subscriptions, users set

	reversals bool // there are any
}

func newKeys(batch []events.Event) keys {
	k := keys{events: set{}, payments: set{}, subscriptions: set{}, users: set{}}
	for _, e := range batch {
		k.events.add(e.ID)
		if !projections.HasEffect(e.Type) {
			continue
		}
		k.payments.add(e.Transaction, e.Order)
		if projections.IsReversal(e.Type) {
			k.reversals = true
			continue
		}
		k.subscriptions.add(e.SubscriptionID)
		k.users.add(e.UserID)
	}
	return k
}
