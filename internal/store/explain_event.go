package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// EventStory is what the tables know of one event, at one moment.
type EventStory struct {
	LogID        string // of the log the tables were folded from
	Event        projections.ProcessedEvent
	Copies       Part[int64]                      // sequences of the other messages with its id
	Payment      *projections.Payment             // the one it names
	Others       Part[projections.ProcessedEvent] // the other events of that payment
	Ledger       Lines                            // of that payment, whoever wrote them
	Reversals    Part[projections.Reversal]       // of that payment, in the order of the log
	Credits      *projections.Credits             // of its user
	Subscription *projections.SubscriptionState   // the one it is about
	Shown        *projections.Subscription        // the one the user is shown
	License      *projections.ProLicense          // of its user, where it is about a licence
	Disorder     []Disorder                       // that it or a copy takes part in
	Poison       *Poison
	Around
}

// ExplainEvent tells of the event with the first of these ids that is known;
// of lists at most limit items. ErrUnknown where none of them is.
func (s *Store) ExplainEvent(ctx context.Context, ids []string, limit int) (out EventStory, err error) {
	err = s.view(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, id := range ids {
			event, err := rowOf[projections.ProcessedEvent](ctx, tx, "processed_event", "where event_id = $1", id)
			if err != nil {
				return err
			}
			if event != nil {
				out, err = s.tellEvent(ctx, tx, *event, limit)
				return err
			}
		}
		return ErrUnknown
	})
	return out, err
}

// ExplainSeq is ExplainEvent for the message at seq, be it the event's first or a copy.
func (s *Store) ExplainSeq(ctx context.Context, seq uint64, limit int) (out EventStory, err error) {
	err = s.view(ctx, func(ctx context.Context, tx pgx.Tx) error {
		event, err := rowOf[projections.ProcessedEvent](ctx, tx, "processed_event",
			"where stream_seq = $1 or event_id = (select event_id from duplicate_event where stream_seq = $1)", int64(seq))
		if err != nil {
			return err
		}
		if event == nil {
			return ErrUnknown
		}
		out, err = s.tellEvent(ctx, tx, *event, limit)
		return err
	})
	return out, err
}

func (s *Store) tellEvent(ctx context.Context, tx pgx.Tx, e projections.ProcessedEvent, limit int) (out EventStory, err error) {
	out = EventStory{Event: e}
	steps := []func(context.Context, pgx.Tx, int) error{
		out.readOrigin(s.schema), out.readPayment, out.readUser,
		func(ctx context.Context, tx pgx.Tx, _ int) (err error) {
			out.Around, err = around(ctx, tx, append(slices.Clone(out.Others.Items), e))
			return err
		},
	}
	for _, step := range steps {
		if err := step(ctx, tx, limit); err != nil {
			return EventStory{}, fmt.Errorf("explain %s: %w", e.EventID, err)
		}
	}
	return out, nil
}

// readOrigin reads what the log had of it, and what went wrong with it.
func (o *EventStory) readOrigin(schema string) func(context.Context, pgx.Tx, int) error {
	return func(ctx context.Context, tx pgx.Tx, limit int) error {
		err := tx.QueryRow(ctx, "select log_id from payfold.schema_state where schema_name = $1", schema).Scan(&o.LogID)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotPrepared
		}
		if err != nil {
			return err
		}
		copies, err := part[projections.DuplicateEvent](ctx, tx, "duplicate_event", "event_id = $1", "stream_seq desc", limit, o.Event.EventID)
		if err != nil {
			return err
		}
		o.Copies.Earlier = copies.Earlier
		messages := []int64{o.Event.StreamSeq}
		for _, c := range copies.Items {
			o.Copies.Items = append(o.Copies.Items, c.StreamSeq)
			messages = append(messages, c.StreamSeq)
		}
		if err := list(ctx, tx, &o.Disorder, listDisorder, schema, messages, limit); err != nil {
			return err
		}
		var poison []Poison
		if err := list(ctx, tx, &poison, listPoison, o.LogID, messages[:1], 1); err != nil || len(poison) == 0 {
			return err
		}
		o.Poison = &poison[0]
		return nil
	}
}

// readPayment reads the payment the event names, by any of its names.
func (o *EventStory) readPayment(ctx context.Context, tx pgx.Tx, limit int) (err error) {
	e := o.Event
	o.Ledger, err = lines(ctx, tx, "event_id = $1", limit, e.EventID)
	if err != nil || e.ProviderPaymentID == "" {
		return err
	}
	names := []string{e.ProviderPaymentID}
	found, err := paymentsNamed(ctx, tx, names)
	if err != nil {
		return err
	}
	for i, p := range found {
		if o.Payment == nil || p.ProviderPaymentID == e.ProviderPaymentID {
			o.Payment = &found[i]
		}
	}
	if p := o.Payment; p != nil {
		names = append(names, p.ProviderPaymentID, p.TransactionID)
		if p.FirstOfOrder || p.MergedID != "" {
			names = append(names, p.OrderID, p.MergedID)
		}
		o.Reversals, err = part[projections.Reversal](ctx, tx, "reversal", "provider_payment_id = any($1)", "stream_seq desc", limit, names)
		if err != nil {
			return err
		}
		if p.UserID != "" {
			o.Ledger, err = lines(ctx, tx, "user_id = any($1) and provider_payment_id = any($2)", limit, []string{p.UserID, p.OtherUserID}, []string{p.ProviderPaymentID, p.MergedID})
			if err != nil {
				return err
			}
		}
	}
	o.Others, err = part[projections.ProcessedEvent](ctx, tx, "processed_event", "provider_payment_id = any($1) and event_id <> $2",
		"stream_seq desc", limit, names, e.EventID)
	return err
}

// readUser reads what the event's user has now of what the event is about.
func (o *EventStory) readUser(ctx context.Context, tx pgx.Tx, _ int) (err error) {
	user, subscription := o.Event.UserID, SubscriptionOf(o.Event)
	if o.Payment != nil {
		if user == "" {
			user = o.Payment.UserID
		}
		if subscription == "" {
			subscription = o.Payment.SubscriptionID
		}
	}
	if subscription != "" {
		if o.Subscription, err = rowOf[projections.SubscriptionState](ctx, tx, "subscription_state", "where subscription_id = $1", subscription); err != nil {
			return err
		}
		if user == "" && o.Subscription != nil {
			user = o.Subscription.UserID
		}
		if o.Shown, err = rowOf[projections.Subscription](ctx, tx, "subscription", "where user_id = $1", user); err != nil {
			return err
		}
	}
	kind := o.Event.Kind
	if kind == "" && o.Payment != nil {
		kind = o.Payment.Kind
	}
	switch kind {
	case projections.KindOneTime:
		o.Credits, err = rowOf[projections.Credits](ctx, tx, "credits", "where user_id = $1", user)
	case projections.KindPro:
		o.License, err = rowOf[projections.ProLicense](ctx, tx, "pro_license", "where user_id = $1", user)
	}
	return err
}
