package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/tables"
)

// related has the rows that some events refer to.
type related struct {
	Payments      map[string]projections.Payment           // by each of their ids
	Subscriptions map[string]projections.SubscriptionState // by id
	Reversals     map[string]projections.Reversal          // by the id of their event
	Wrote         map[string]int64                         // sum of an event's ledger lines without corrections, by event id
	Corrected     map[string]correction                    // by event id
	Undone        map[string]correction                    // what corrections did to the grants that the event wrote or reversed, by event id
}

// correction sums an event's ledger lines of entry correction.
type correction struct{ Undone, GivenBack int64 }

// readRelated reads the rows in five statements for any number of events.
func readRelated(ctx context.Context, tx pgx.Tx, events []projections.ProcessedEvent) (related, error) {
	out := related{
		Payments: map[string]projections.Payment{}, Subscriptions: map[string]projections.SubscriptionState{},
		Reversals: map[string]projections.Reversal{}, Wrote: map[string]int64{}, Corrected: map[string]correction{},
		Undone: map[string]correction{},
	}
	ids, payments, subscriptions := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range events {
		ids[e.EventID], payments[e.ProviderPaymentID], subscriptions[e.Subscription()] = true, true, true
	}
	found, err := tables.PaymentsNamed(ctx, tx, slices.Collect(maps.Keys(payments)))
	if err != nil {
		return out, err
	}
	for _, p := range found {
		if p.FirstOfOrder || p.MergedID != "" {
			out.Payments[p.OrderID] = p
		}
		subscriptions[p.SubscriptionID] = true
	}
	for _, p := range found {
		if p.TransactionID != "" {
			out.Payments[p.TransactionID] = p
		}
		out.Payments[p.ProviderPaymentID] = p
	}
	states, err := tables.SubscriptionStates.Rows(ctx, tx, "where subscription_id = any($1)", slices.Collect(maps.Keys(subscriptions)))
	if err != nil {
		return out, err
	}
	for _, state := range states {
		out.Subscriptions[state.SubscriptionID] = state
	}
	reversals, err := tables.Reversals.Rows(ctx, tx, "where event_id = any($1)", slices.Collect(maps.Keys(ids)))
	if err != nil {
		return out, err
	}
	for _, r := range reversals {
		out.Reversals[r.EventID] = r
	}
	rows, _ := tx.Query(ctx, `select event_id, coalesce(sum(delta) filter (where entry <> 'correction'), 0)::bigint,
		coalesce(-sum(delta) filter (where entry = 'correction' and delta < 0), 0)::bigint,
		coalesce(sum(delta) filter (where entry = 'correction' and delta > 0), 0)::bigint
		from credit_ledger where event_id = any($1) group by 1`, slices.Collect(maps.Keys(ids))) // ForEachRow returns its error
	var id string
	var sum int64
	var sums correction
	_, err = pgx.ForEachRow(rows, []any{&id, &sum, &sums.Undone, &sums.GivenBack}, func() error {
		out.Wrote[id], out.Corrected[id] = sum, sums
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("sum the ledger lines: %w", err)
	}
	return out, readUndone(ctx, tx, slices.Collect(maps.Keys(out.Wrote)), out.Undone)
}

// readUndone sums the corrections of the grants that each event wrote, and of the reversals of the grants
// that it reversed.
func readUndone(ctx context.Context, tx pgx.Tx, events []string, undone map[string]correction) error {
	rows, _ := tx.Query(ctx, `select g.event_id, coalesce(-sum(c.delta) filter (where c.delta < 0 and g.granted), 0)::bigint,
		coalesce(sum(c.delta) filter (where c.delta > 0 and not g.granted), 0)::bigint
		from (
			select distinct event_id, user_id, provider_payment_id, entry = 'grant' as granted,
				coalesce(reverses_event_id, event_id) as grant_id, coalesce(reverses_line, line) as grant_line
			from credit_ledger where event_id = any($1) and entry <> 'correction'
		) as g
		join credit_ledger c on c.user_id = g.user_id and c.provider_payment_id = g.provider_payment_id
			and c.reverses_event_id = g.grant_id and c.reverses_line = g.grant_line and c.entry = 'correction'
		group by 1`, events) // ForEachRow returns its error
	var id string
	var sums correction
	_, err := pgx.ForEachRow(rows, []any{&id, &sums.Undone, &sums.GivenBack}, func() error {
		undone[id] = sums
		return nil
	})
	if err != nil {
		return fmt.Errorf("sum the corrections: %w", err)
	}
	return nil
}

// WithWhy is an event with the sentences that say what it did and why.
type WithWhy struct {
	projections.ProcessedEvent
	Why string
}

// Events explains events, in a fixed number of statements.
func Events(ctx context.Context, tx pgx.Tx, list []projections.ProcessedEvent) ([]WithWhy, error) {
	rows, err := readRelated(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	out := make([]WithWhy, len(list))
	for i, e := range list {
		out[i] = WithWhy{e, why(e, rows)}
	}
	return out, nil
}

func withoutWhy(list Part[WithWhy]) (out Part[projections.ProcessedEvent]) {
	out.Earlier = list.Earlier
	for _, e := range list.Items {
		out.Items = append(out.Items, e.ProcessedEvent)
	}
	return out
}

// MarshalJSON implements json.Marshaler: the columns of the event, and "why".
func (e WithWhy) MarshalJSON() ([]byte, error) {
	columns, err := row{e.ProcessedEvent}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	sentence, err := page.Marshal(e.Why)
	if err != nil {
		return nil, err
	}
	return append(append(append(columns[:len(columns)-1], `,"why":`...), sentence...), '}'), nil
}
