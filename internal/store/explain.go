package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// Part is the newest of a list, in the order of the log.
type Part[T any] struct {
	Items   []T
	Earlier int64 // how many are left out before them
}

// Lines is the newest lines of a ledger, in the order of the log, and the sum of
// those before, so that what is shown adds up.
type Lines struct {
	Part[projections.LedgerLine]
	EarlierSum int64
	Sum        int64 // of all
}

// Around is what the tables know of what some events name.
type Around struct {
	Payments      map[string]projections.Payment           // by every name they have
	Subscriptions map[string]projections.SubscriptionState // by id
	Reversals     map[string]projections.Reversal          // by the id of their event
	Wrote         map[string]int64                         // by event id: the sum of its ledger lines, without corrections
	Corrected     map[string]Correction                    // by event id
}

// Correction is what an event's ledger lines of entry correction come to.
type Correction struct{ Undone, GivenBack int64 }

// around reads it in four statements, however many events there are.
func around(ctx context.Context, tx pgx.Tx, events []projections.ProcessedEvent) (Around, error) {
	out := Around{
		Payments: map[string]projections.Payment{}, Subscriptions: map[string]projections.SubscriptionState{},
		Reversals: map[string]projections.Reversal{}, Wrote: map[string]int64{}, Corrected: map[string]Correction{},
	}
	ids, payments, subscriptions := set{}, set{}, set{}
	for _, e := range events {
		ids.add(e.EventID)
		payments.add(e.ProviderPaymentID)
		subscriptions.add(SubscriptionOf(e))
	}
	found, err := paymentsNamed(ctx, tx, payments.list())
	if err != nil {
		return out, err
	}
	for _, p := range found {
		if p.FirstOfOrder || p.MergedID != "" {
			out.Payments[p.OrderID] = p
		}
	}
	for _, p := range found {
		if p.TransactionID != "" {
			out.Payments[p.TransactionID] = p
		}
		out.Payments[p.ProviderPaymentID] = p
	}
	states, err := rowsOf[projections.SubscriptionState](ctx, tx, "subscription_state", "where subscription_id = any($1)", subscriptions.list())
	if err != nil {
		return out, err
	}
	for _, state := range states {
		out.Subscriptions[state.SubscriptionID] = state
	}
	reversals, err := rowsOf[projections.Reversal](ctx, tx, "reversal", "where event_id = any($1)", ids.list())
	if err != nil {
		return out, err
	}
	for _, r := range reversals {
		out.Reversals[r.EventID] = r
	}
	rows, err := tx.Query(ctx, `select event_id, coalesce(sum(delta) filter (where entry <> 'correction'), 0)::bigint,
		coalesce(-sum(delta) filter (where entry = 'correction' and delta < 0), 0)::bigint,
		coalesce(sum(delta) filter (where entry = 'correction' and delta > 0), 0)::bigint
		from credit_ledger where event_id = any($1) group by 1`, ids.list())
	if err != nil {
		return out, fmt.Errorf("sum the ledger lines: %w", err)
	}
	var id string
	var sum int64
	var correction Correction
	_, err = pgx.ForEachRow(rows, []any{&id, &sum, &correction.Undone, &correction.GivenBack}, func() error {
		out.Wrote[id], out.Corrected[id] = sum, correction
		return nil
	})
	return out, err
}

// SubscriptionOf is the id in subscription_state that an event is about, empty for none.
func SubscriptionOf(e projections.ProcessedEvent) string {
	switch {
	case e.SubscriptionID != "":
		return e.SubscriptionID
	case e.Kind == projections.KindSubscription && e.UserID != "" && !projections.IsReversal(e.EventType):
		return projections.ImplicitSubscription(e.UserID)
	}
	return ""
}

func paymentsNamed(ctx context.Context, tx pgx.Tx, names []string) ([]projections.Payment, error) {
	return rowsOf[projections.Payment](ctx, tx, "payment", `
		where provider_payment_id in (select coalesce(merged_into, provider_payment_id) from payment where provider_payment_id in (`+namedPayments+`))
		order by stream_seq`, names)
}

// part reads the newest rows of a derived table that where selects; args are the
// arguments of where.
func part[R any](ctx context.Context, tx pgx.Tx, table, where, newestFirst string, limit int, args ...any) (out Part[R], err error) {
	tail := fmt.Sprintf("where %s order by %s limit $%d", where, newestFirst, len(args)+1)
	if out.Items, err = rowsOf[R](ctx, tx, table, tail, append(slices.Clone(args), limit)...); err != nil {
		return out, err
	}
	slices.Reverse(out.Items)
	if len(out.Items) < limit {
		return out, nil
	}
	if err := tx.QueryRow(ctx, fmt.Sprintf("select count(*) from %s where %s", table, where), args...).Scan(&out.Earlier); err != nil {
		return out, fmt.Errorf("count %s: %w", table, err)
	}
	out.Earlier -= int64(len(out.Items))
	return out, nil
}

// lines reads the newest lines of the ledger that where selects.
func lines(ctx context.Context, tx pgx.Tx, where string, limit int, args ...any) (out Lines, err error) {
	out.Part, err = part[projections.LedgerLine](ctx, tx, "credit_ledger", where, "stream_seq desc, event_id desc, line desc", limit, args...)
	if err != nil {
		return out, err
	}
	if err := tx.QueryRow(ctx, "select coalesce(sum(delta), 0)::bigint from credit_ledger where "+where, args...).Scan(&out.Sum); err != nil {
		return out, fmt.Errorf("sum the ledger: %w", err)
	}
	out.EarlierSum = out.Sum
	for _, line := range out.Items {
		out.EarlierSum -= line.Delta
	}
	return out, nil
}
