package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Conditions for viewEvent. The message at a sequence may be the event's first message or a duplicate.
const (
	withID      = "where event_id = any($1) order by array_position($1::text[], event_id) limit 1"
	withMessage = "where stream_seq = $1 or event_id = (select event_id from duplicate_event where stream_seq = $1)"
)

// viewEvent reads everything about the event that a condition selects. Lists have at most limit items. The error is
// store.ErrUnknown if there is none.
func viewEvent(ctx context.Context, database *store.Store, condition string, argument any, limit int) (out Event, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		event, err := tables.ProcessedEvents.Row(ctx, tx, condition, argument)
		if err != nil {
			return err
		}
		if event == nil {
			return store.ErrUnknown
		}
		out = Event{Event: WithWhy{ProcessedEvent: *event}}
		return out.read(ctx, tx, database.Schema(), limit)
	})
	return out, err
}

// read reads everything that belongs to e.Event.
func (e *Event) read(ctx context.Context, tx pgx.Tx, schema string, limit int) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("explain %s: %w", e.Event.EventID, err)
		}
	}()
	if err := e.readOrigin(ctx, tx, schema, limit); err != nil {
		return err
	}
	others, err := e.readPayment(ctx, tx, schema, limit)
	if err != nil {
		return err
	}
	if err := e.readUser(ctx, tx); err != nil {
		return err
	}
	explained, err := Events(ctx, tx, append(others.Items, e.Event.ProcessedEvent))
	if err != nil {
		return err
	}
	last := len(explained) - 1
	e.Event, e.Others = explained[last], Part[WithWhy]{Items: explained[:last], Earlier: others.Earlier}
	return nil
}

// readOrigin reads the moment, the event's log, its duplicates, whether it was applied out of order, and
// whether it is quarantined.
func (e *Event) readOrigin(ctx context.Context, tx pgx.Tx, schema string, limit int) error {
	err := tx.QueryRow(ctx, "select now(), log_id from payfold.schema_state where schema_name = $1", schema).Scan(&e.At, &e.LogID)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNotPrepared
	}
	if err != nil {
		return err
	}
	duplicates, err := Newest(ctx, tx, tables.DuplicateEvents, "event_id = $1", "stream_seq desc", limit, e.Event.EventID)
	if err != nil {
		return err
	}
	e.Duplicates = Part[Duplicate]{Items: []Duplicate{}, Earlier: duplicates.Earlier}
	messages := []int64{e.Event.StreamSeq}
	for _, d := range duplicates.Items {
		e.Duplicates.Items = append(e.Duplicates.Items, Duplicate{Seq: d.StreamSeq})
		messages = append(messages, d.StreamSeq)
	}
	if e.OutOfOrder, err = status.ReadOutOfOrder(ctx, tx, schema, messages, limit); err != nil {
		return err
	}
	quarantined, err := status.ReadQuarantined(ctx, tx, e.LogID, messages[:1], 1)
	if err != nil || len(quarantined) == 0 {
		return err
	}
	e.Quarantined = &quarantined[0]
	return nil
}

// readPayment reads the payment that the event names by any of its ids, with the payment's reversals, ledger lines
// and grants. It returns the payment's other events.
func (e *Event) readPayment(
	ctx context.Context, tx pgx.Tx, schema string, limit int,
) (others Part[projections.ProcessedEvent], err error) {
	id, name := e.Event.EventID, e.Event.ProviderPaymentID
	e.Ledger, err = newestLines(ctx, tx, "event_id = $1", limit, id)
	if err != nil || name == "" {
		return others, err
	}
	if e.Payment, err = PaymentNamed(ctx, tx, name); err != nil {
		return others, err
	}
	names := []string{name}
	if p := e.Payment; p != nil {
		names = append(names, PaymentNames(*p)...)
		e.Reversals, err = Newest(ctx, tx, tables.Reversals, "provider_payment_id = any($1)", "stream_seq desc", limit, names)
		if err != nil {
			return others, err
		}
		if e.Ledger, err = LedgerOfPayment(ctx, tx, *p, limit); err != nil {
			return others, err
		}
		if e.Grants, err = GrantsOfPayment(ctx, tx, schema, *p, limit); err != nil {
			return others, err
		}
	}
	return Newest(ctx, tx, tables.ProcessedEvents, "provider_payment_id = any($1) and event_id <> $2", NewestEvents, limit, names, id)
}

// readUser reads what the user of the event has now: the subscription, credits or licence
// that the event is about.
func (e *Event) readUser(ctx context.Context, tx pgx.Tx) (err error) {
	var payment projections.Payment
	if e.Payment != nil {
		payment = *e.Payment
	}
	user := cmp.Or(e.Event.UserID, payment.UserID)
	if subscription := cmp.Or(e.Event.Subscription(), payment.SubscriptionID); subscription != "" {
		if e.Subscription, err = tables.SubscriptionStates.Row(ctx, tx, "where subscription_id = $1", subscription); err != nil {
			return err
		}
		of := user
		if e.Subscription != nil && e.Subscription.UserID != "" { // an event may name somebody else
			of = e.Subscription.UserID
		}
		user = cmp.Or(user, of)
		if e.Shown, err = tables.CurrentSubscriptions.Row(ctx, tx, "where user_id = $1", of); err != nil {
			return err
		}
	}
	switch cmp.Or(e.Event.Kind, payment.Kind) {
	case projections.KindOneTime:
		e.Credits, err = tables.Credits.Row(ctx, tx, "where user_id = $1", user)
	case projections.KindPro:
		e.License, err = tables.Licenses.Row(ctx, tx, "where user_id = $1", user)
	}
	return err
}

// PaymentNamed reads the payment that has this name: as its key, or else as its transaction or order. It
// returns nil if there is none.
func PaymentNamed(ctx context.Context, tx pgx.Tx, name string) (*projections.Payment, error) {
	found, err := tables.PaymentsNamed(ctx, tx, []string{name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	byKey := slices.IndexFunc(found, func(p projections.Payment) bool { return p.ProviderPaymentID == name })
	return &found[max(byKey, 0)], nil
}

// PaymentNames lists the names that events, reversals and ledger lines may have for the payment. Some may be
// empty.
func PaymentNames(p projections.Payment) []string {
	return []string{p.ProviderPaymentID, p.TransactionID, p.OrderID}
}

// LedgerOfPayment reads the newest ledger lines of a payment. Those under its order were corrected to nothing when both
// names turned out to be one payment.
func LedgerOfPayment(ctx context.Context, tx pgx.Tx, p projections.Payment, limit int) (Lines, error) {
	return newestLines(ctx, tx, "provider_payment_id = any($1)", limit, PaymentNames(p))
}
