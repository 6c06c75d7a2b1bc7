package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// EventRows has the rows about one event, all of one moment.
type EventRows struct {
	At           time.Time // of the moment, by the database's clock
	LogID        string    // of the log that the tables were folded from
	Event        projections.ProcessedEvent
	Duplicates   Part[int64]                      // sequences of its duplicates
	Payment      *projections.Payment             // the payment that the event names
	Others       Part[projections.ProcessedEvent] // the other events of that payment
	Ledger       Lines                            // of that payment
	Reversals    Part[projections.Reversal]       // of that payment, in the order of the log
	Credits      *projections.Credits             // of its user
	Subscription *projections.SubscriptionState   // the subscription that the event is about
	Shown        *projections.Subscription        // the subscription that the user is shown
	License      *projections.ProLicense          // of its user, if the event is about a licence
	OutOfOrder   []status.OutOfOrder              // those that involve the event or a duplicate
	Quarantined  *status.Quarantined
	Related
}

// readEvent reads the rows about the event that has one of these ids; the first id that is
// known counts. Lists have at most limit items. The error is store.ErrUnknown if no id is
// known.
func readEvent(ctx context.Context, database *store.Store, ids []string, limit int) (out EventRows, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, id := range ids {
			event, err := tables.ProcessedEvents.Row(ctx, tx, "where event_id = $1", id)
			if err != nil {
				return err
			}
			if event != nil {
				out, err = readEventRows(ctx, tx, database.Schema(), *event, limit)
				return err
			}
		}
		return store.ErrUnknown
	})
	return out, err
}

// readMessage is readEvent for the message at seq. It may be the event's first message or
// a duplicate.
func readMessage(ctx context.Context, database *store.Store, seq uint64, limit int) (out EventRows, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		event, err := tables.ProcessedEvents.Row(ctx, tx,
			"where stream_seq = $1 or event_id = (select event_id from duplicate_event where stream_seq = $1)", int64(seq))
		if err != nil {
			return err
		}
		if event == nil {
			return store.ErrUnknown
		}
		out, err = readEventRows(ctx, tx, database.Schema(), *event, limit)
		return err
	})
	return out, err
}

func readEventRows(ctx context.Context, tx pgx.Tx, schema string, e projections.ProcessedEvent, limit int) (out EventRows, err error) {
	out = EventRows{Event: e}
	steps := []func(context.Context, pgx.Tx, int) error{
		out.readOrigin(schema), out.readPayment, out.readUser,
		func(ctx context.Context, tx pgx.Tx, _ int) (err error) {
			out.Related, err = readRelated(ctx, tx, append(slices.Clone(out.Others.Items), e))
			return err
		},
	}
	for _, step := range steps {
		if err := step(ctx, tx, limit); err != nil {
			return EventRows{}, fmt.Errorf("explain %s: %w", e.EventID, err)
		}
	}
	return out, nil
}

// readOrigin reads the moment, the event's log, its duplicates, whether it was applied out of order, and
// whether it is quarantined.
func (o *EventRows) readOrigin(schema string) func(context.Context, pgx.Tx, int) error {
	return func(ctx context.Context, tx pgx.Tx, limit int) error {
		err := tx.QueryRow(ctx, "select now(), log_id from payfold.schema_state where schema_name = $1", schema).Scan(&o.At, &o.LogID)
		if errors.Is(err, pgx.ErrNoRows) {
			return store.ErrNotPrepared
		}
		if err != nil {
			return err
		}
		duplicates, err := Newest(ctx, tx, tables.DuplicateEvents, "event_id = $1", "stream_seq desc", limit, o.Event.EventID)
		if err != nil {
			return err
		}
		o.Duplicates.Earlier = duplicates.Earlier
		messages := []int64{o.Event.StreamSeq}
		for _, c := range duplicates.Items {
			o.Duplicates.Items = append(o.Duplicates.Items, c.StreamSeq)
			messages = append(messages, c.StreamSeq)
		}
		if o.OutOfOrder, err = status.ReadOutOfOrder(ctx, tx, schema, messages, limit); err != nil {
			return err
		}
		quarantined, err := status.ReadQuarantined(ctx, tx, o.LogID, messages[:1], 1)
		if err != nil || len(quarantined) == 0 {
			return err
		}
		o.Quarantined = &quarantined[0]
		return nil
	}
}

// readPayment reads the payment that the event names by any of its ids, with the payment's
// events, reversals and ledger lines.
func (o *EventRows) readPayment(ctx context.Context, tx pgx.Tx, limit int) (err error) {
	e := o.Event
	o.Ledger, err = newestLines(ctx, tx, "event_id = $1", limit, e.EventID)
	if err != nil || e.ProviderPaymentID == "" {
		return err
	}
	names := []string{e.ProviderPaymentID}
	found, err := tables.PaymentsNamed(ctx, tx, names)
	if err != nil {
		return err
	}
	for i, p := range found {
		if o.Payment == nil || p.ProviderPaymentID == e.ProviderPaymentID {
			o.Payment = &found[i]
		}
	}
	if p := o.Payment; p != nil {
		names = append(names, PaymentNames(*p)...)
		o.Reversals, err = Newest(ctx, tx, tables.Reversals, "provider_payment_id = any($1)", "stream_seq desc", limit, names)
		if err != nil {
			return err
		}
		if p.UserID != "" {
			if o.Ledger, err = LedgerOfPayment(ctx, tx, *p, limit); err != nil {
				return err
			}
		}
	}
	o.Others, err = Newest(ctx, tx, tables.ProcessedEvents, "provider_payment_id = any($1) and event_id <> $2",
		NewestEvents, limit, names, e.EventID)
	return err
}

// PaymentNames lists the names that events and reversals may have for the payment. Some may be
// empty.
func PaymentNames(p projections.Payment) []string {
	names := []string{p.ProviderPaymentID, p.TransactionID}
	if p.FirstOfOrder || p.MergedID != "" {
		names = append(names, p.OrderID, p.MergedID)
	}
	return names
}

// LedgerOfPayment reads the newest ledger lines of a payment, of both users if it had two.
func LedgerOfPayment(ctx context.Context, tx pgx.Tx, p projections.Payment, limit int) (Lines, error) {
	return newestLines(ctx, tx, "user_id = any($1) and provider_payment_id = any($2)", limit,
		[]string{p.UserID, p.OtherUserID}, []string{p.ProviderPaymentID, p.MergedID})
}

// readUser reads what the user of the event has now: the subscription, credits or licence
// that the event is about.
func (o *EventRows) readUser(ctx context.Context, tx pgx.Tx, _ int) (err error) {
	user, subscription := o.Event.UserID, o.Event.Subscription()
	if o.Payment != nil {
		if user == "" {
			user = o.Payment.UserID
		}
		if subscription == "" {
			subscription = o.Payment.SubscriptionID
		}
	}
	if subscription != "" {
		if o.Subscription, err = tables.SubscriptionStates.Row(ctx, tx, "where subscription_id = $1", subscription); err != nil {
			return err
		}
		if user == "" && o.Subscription != nil {
			user = o.Subscription.UserID
		}
		if o.Shown, err = tables.CurrentSubscriptions.Row(ctx, tx, "where user_id = $1", user); err != nil {
			return err
		}
	}
	kind := o.Event.Kind
	if kind == "" && o.Payment != nil {
		kind = o.Payment.Kind
	}
	switch kind {
	case projections.KindOneTime:
		o.Credits, err = tables.Credits.Row(ctx, tx, "where user_id = $1", user)
	case projections.KindPro:
		o.License, err = tables.Licenses.Row(ctx, tx, "where user_id = $1", user)
	}
	return err
}
