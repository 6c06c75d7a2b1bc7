package explain

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// related has the rows that some events refer to.
type related struct {
	Payments      map[string]projections.Payment               // by each of their names
	Subscriptions map[string]projections.SubscriptionState     // by id
	Reversals     map[string]projections.Reversal              // by the id of their event
	Decides       map[string]projections.Reversal              // the event that decides the status of the same reversal, by event id
	Wrote         map[string]wrote                             // an event's ledger lines without corrections, by event id
	Corrected     map[string]correction                        // by event id
	Undone        map[string]correction                        // what corrections did to the grants that the event wrote or reversed, by event id
	Waited        map[string][]string                          // payments that waited for the user whom the event names, by event id
	Periods       map[projections.Period][]projections.Payment // those that grant, by the provider's time
}

// wrote sums an event's ledger lines. Those of one payment are added up first.
type wrote struct{ Granted, TookBack int64 }

// correction sums an event's ledger lines of entry correction.
type correction struct{ Undone, GivenBack int64 }

func newRelated() related {
	return related{
		Payments: map[string]projections.Payment{}, Subscriptions: map[string]projections.SubscriptionState{},
		Reversals: map[string]projections.Reversal{}, Decides: map[string]projections.Reversal{}, Wrote: map[string]wrote{},
		Corrected: map[string]correction{}, Undone: map[string]correction{}, Waited: map[string][]string{},
		Periods: map[projections.Period][]projections.Payment{},
	}
}

// readRelated reads the rows in a fixed number of statements for any number of events.
func readRelated(ctx context.Context, tx pgx.Tx, list []projections.ProcessedEvent) (related, error) {
	out := newRelated()
	ids, payments, subscriptions := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range list {
		ids[e.EventID], payments[e.ProviderPaymentID], subscriptions[e.Subscription()] = true, true, true
	}
	found, err := tables.PaymentsNamed(ctx, tx, slices.Collect(maps.Keys(payments)))
	if err != nil {
		return out, err
	}
	out.addPayments(found)
	for _, p := range found {
		subscriptions[p.SubscriptionID] = true
	}
	states, err := tables.SubscriptionStates.Rows(ctx, tx, "where subscription_id = any($1)", slices.Collect(maps.Keys(subscriptions)))
	if err != nil {
		return out, err
	}
	for _, state := range states {
		out.Subscriptions[state.SubscriptionID] = state
	}
	if err := out.readPeriods(ctx, tx, found); err != nil {
		return out, err
	}
	if err := out.readReversals(ctx, tx, list); err != nil {
		return out, err
	}
	if err := out.readWaited(ctx, tx, list); err != nil {
		return out, err
	}
	return out, out.readSums(ctx, tx, slices.Collect(maps.Keys(ids)))
}

// addPayments lists the payments under their names. A transaction has priority over an order.
func (r related) addPayments(found []projections.Payment) {
	for _, p := range found {
		if p.OrderID != "" {
			r.Payments[p.OrderID] = p
		}
	}
	for _, p := range found {
		if p.TransactionID != "" {
			r.Payments[p.TransactionID] = p
		}
		r.Payments[p.ProviderPaymentID] = p
	}
}

// readReversals reads the reversals of the events, and the other events of the same reversals.
func (r related) readReversals(ctx context.Context, tx pgx.Tx, list []projections.ProcessedEvent) error {
	var names []string
	for _, e := range list {
		if e.IsReversal() {
			names = append(append(names, e.ProviderPaymentID), PaymentNames(r.Payments[e.ProviderPaymentID])...)
		}
	}
	if len(names) == 0 {
		return nil
	}
	reversals, err := tables.Reversals.Rows(ctx, tx, "where provider_payment_id = any($1)", names)
	r.addReversals(reversals)
	return err
}

// addReversals adds all events of the reversals of some payments.
func (r related) addReversals(all []projections.Reversal) {
	newest := map[string]projections.Reversal{}
	for _, one := range all {
		r.Reversals[one.EventID] = one
		if decides, known := newest[one.ReversalID]; !known || one.DecidesAfter(&decides) {
			newest[one.ReversalID] = one
		}
	}
	for _, one := range all {
		r.Decides[one.EventID] = newest[one.ReversalID]
	}
}

// maxWaiting bounds the payments of one subscription among which those are that waited for its user: the first ones.
const maxWaiting = 20

// readWaited finds the payments that waited for the user whom an event brought.
func (r related) readWaited(ctx context.Context, tx pgx.Tx, list []projections.ProcessedEvent) error {
	var brought []string
	for _, e := range list {
		if s, known := r.Subscriptions[e.SubscriptionID]; known && bringsUser(e, s) {
			brought = append(brought, s.SubscriptionID)
		}
	}
	if len(brought) == 0 {
		return nil
	}
	found, err := tables.Payments.Rows(ctx, tx, `where provider_payment_id in (
		select p.provider_payment_id from unnest($1::text[]) as of(subscription)
		cross join lateral (
			select provider_payment_id from payment_facts where subscription_id = of.subscription order by occurred_at limit $2
		) p
	) order by stream_seq`, brought, maxWaiting)
	r.addWaited(list, found)
	return err
}

// bringsUser reports whether the event was the first of its subscription to name a user. A payment brings its own user.
func bringsUser(e projections.ProcessedEvent, s projections.SubscriptionState) bool {
	if e.Action == string(events.Payment) {
		return false
	}
	said := s.Facts.First(func(f *projections.Fact) bool { return f.EventID == e.EventID && f.User != "" })
	return said != nil && s.UserID == said.User &&
		s.Facts.First(func(f *projections.Fact) bool { return f.User != "" && f.Seq < said.Seq }) == nil
}

// addWaited adds those of the payments that waited for the user whom an event brought.
func (r related) addWaited(list []projections.ProcessedEvent, payments []projections.Payment) {
	for _, e := range list {
		s, known := r.Subscriptions[e.SubscriptionID]
		if !known || !bringsUser(e, s) {
			continue
		}
		for _, p := range payments {
			if p.SubscriptionID == s.SubscriptionID && p.UserID == s.UserID && waitedFor(p, e.StreamSeq) {
				r.Waited[e.EventID] = append(r.Waited[e.EventID], p.ProviderPaymentID)
			}
		}
	}
}

// waitedFor reports whether the payment had arrived before that sequence, and no event of it had named a user.
func waitedFor(p projections.Payment, seq int64) bool {
	before := func(f *projections.Fact) bool { return f.Says == projections.Paid && f.Seq < seq }
	return p.Facts.First(before) != nil && p.Facts.First(func(f *projections.Fact) bool { return before(f) && f.User != "" }) == nil
}

// readSums sums the ledger lines of the events, and the corrections of the grants that each event wrote, and of the
// reversals of the grants that it reversed.
func (r related) readSums(ctx context.Context, tx pgx.Tx, ids []string) error {
	rows, _ := tx.Query(ctx, ledgerSums, ids) // ForEachRow returns its error
	var id string
	var lines wrote
	var sums, undone correction
	_, err := pgx.ForEachRow(rows, []any{&id, &lines.Granted, &lines.TookBack, &sums.Undone, &sums.GivenBack, &undone.Undone, &undone.GivenBack}, func() error {
		r.Wrote[id], r.Corrected[id], r.Undone[id] = lines, sums, undone
		return nil
	})
	if err != nil {
		return fmt.Errorf("sum the ledger lines: %w", err)
	}
	return nil
}

//go:embed ledger_sums.sql
var ledgerSums string

// maxOfPeriod bounds the payments of one period that are read: the first ones.
const maxOfPeriod = 20

// readPeriods reads the payments that grant in the periods of these payments.
func (r related) readPeriods(ctx context.Context, tx pgx.Tx, payments []projections.Payment) error {
	var subscriptions, users []string
	var ends []time.Time
	seen := map[projections.Period]bool{{}: true}
	for i := range payments {
		p := &payments[i]
		if of := p.Period(); !seen[of] {
			seen[of] = true
			subscriptions, users, ends = append(subscriptions, p.SubscriptionID), append(users, p.UserID), append(ends, p.PeriodEnd)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	found, err := tables.Payments.Rows(ctx, tx, `where provider_payment_id in (
		select p.provider_payment_id from unnest($1::text[], $2::text[], $3::timestamptz[]) as of(subscription, customer, ends)
		cross join lateral (
			select provider_payment_id from payment_facts
			where subscription_id = of.subscription and period_end = of.ends and user_id = of.customer and credits is not null
			order by occurred_at limit $4
		) p
	)`, subscriptions, users, ends, maxOfPeriod)
	r.addPeriods(found)
	return err
}

// addPeriods adds those of the payments that grant in a period.
func (r related) addPeriods(payments []projections.Payment) {
	for _, p := range payments {
		if of := p.Period(); of != (projections.Period{}) && p.Credits != nil {
			r.Periods[of] = append(r.Periods[of], p)
		}
	}
	for _, all := range r.Periods {
		slices.SortFunc(all, func(a, b projections.Payment) int { return projections.InPeriod(&a, &b) })
	}
}
