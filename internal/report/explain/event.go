package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Event shows what an event did and why. All its rows are of one moment.
type Event struct {
	At           time.Time                      `json:"-"` // of the moment, by the database's clock
	LogID        string                         `json:"-"` // of the log that the tables were folded from
	Event        WithWhy                        `json:"event"`
	ShopsReason  string                         `json:"shops_reason,omitempty"` // what the body of an own event says for people; empty: nothing, or the log was not read
	Duplicates   Part[Duplicate]                `json:"duplicate_events"`
	LogFault     string                         `json:"-"` // why the duplicates could not be compared; empty if they were
	OfPayment                                   // the payment that the event names
	Others       Part[WithWhy]                  `json:"other_events_of_payment"`
	Credits      *projections.Credits           `json:"credits"`             // of its user
	Subscription *projections.SubscriptionState `json:"subscription_state"`  // the subscription that the event is about
	Shown        *projections.Subscription      `json:"subscription"`        // the subscription that its user is shown
	License      *projections.ProLicense        `json:"pro_license"`         // of its user, if the event is about a licence
	OutOfOrder   []status.OutOfOrder            `json:"out_of_order_events"` // those that involve the event or a duplicate
	Quarantined  *status.Quarantined            `json:"quarantined_event"`
}

// Duplicate is another message with the event's id.
type Duplicate struct {
	Seq        int64      `json:"stream_seq"`
	ReceivedAt *time.Time `json:"received_at"` // nil if the log was not read
	SameBody   *bool      `json:"same_body"`   // whether it has the body of the event's first message
}

// readReason reads from the log why the shop sent an own event. If the log does not have the event, nothing is said.
func (e *Event) readReason(ctx context.Context, log Log) {
	if e.Event.Provider != events.OwnEvents {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reasonTimeout)
	defer cancel()
	message, err := log.Message(ctx, uint64(e.Event.StreamSeq))
	if err != nil || message.ID != e.Event.EventID {
		return
	}
	var body struct{ Reason string }
	if json.Unmarshal(message.Body, &body) == nil {
		e.ShopsReason = body.Reason
	}
}

// reasonTimeout is short, because the rest of the answer waits.
const reasonTimeout = 2 * time.Second

// maxCompared bounds the duplicates that are read from the log, one query for each.
const maxCompared = 100

// compare compares the event with its newest duplicates. If the right log does not answer, LogFault says why that is
// missing.
func (e *Event) compare(ctx context.Context, log Log) {
	newest := e.Duplicates.Items[max(0, len(e.Duplicates.Items)-maxCompared):]
	if len(newest) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	original, err := MessageOf(ctx, log, e.LogID, uint64(e.Event.StreamSeq))
	for i := 0; err == nil && i < len(newest); i++ {
		var message events.Message
		if message, err = log.Message(ctx, uint64(newest[i].Seq)); err == nil {
			same := string(message.Body) == string(original.Body)
			newest[i].ReceivedAt, newest[i].SameBody = &message.ReceivedAt, &same
		}
	}
	if err != nil {
		e.LogFault = err.Error()
	}
}

// Write writes text for people, or one JSON object.
func (e Event) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, e, e.text)
}

// outcome is the outcome with its reason, as in "rejected: missing_user".
func outcome(e projections.ProcessedEvent) string {
	if e.Reason != "" {
		return fmt.Sprintf("%s: %s", e.Outcome, e.Reason)
	}
	return e.Outcome
}

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
	explained, err := Explained(ctx, tx, append(others.Items, e.Event.ProcessedEvent))
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
	e.Duplicates.Earlier = duplicates.Earlier
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

// readPayment reads the payment that the event names by any of its ids. It returns the payment's other events.
func (e *Event) readPayment(
	ctx context.Context, tx pgx.Tx, schema string, limit int,
) (others Part[projections.ProcessedEvent], err error) {
	id, name := e.Event.EventID, e.Event.ProviderPaymentID
	var names []string
	if name != "" {
		if e.OfPayment, names, err = ReadPayment(ctx, tx, schema, name, limit); err != nil {
			return others, err
		}
		others, err = Newest(ctx, tx, tables.ProcessedEvents, "provider_payment_id = any($1) and event_id <> $2", NewestEvents, limit, names, id)
	}
	if err == nil && e.Payment == nil {
		e.Ledger, err = newestLines(ctx, tx, "event_id = $1", limit, id)
	}
	return others, err
}

// readUser reads what the user of the event has now: the subscription, credits or licence
// that the event is about.
func (e *Event) readUser(ctx context.Context, tx pgx.Tx) (err error) {
	var payment projections.Payment
	if e.Payment != nil {
		payment = e.Payment.Payment
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
