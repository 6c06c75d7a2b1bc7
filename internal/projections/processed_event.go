package projections

import (
	"maps"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// ProcessedEvent records what one event did, and why. Every message of the log has one
// ProcessedEvent or one DuplicateEvent.
type ProcessedEvent struct {
	EventID           string    `db:"event_id,key"`
	StreamSeq         int64     `db:"stream_seq"`
	Provider          string    `db:"provider"`
	EventType         string    `db:"event_type"`
	Action            string    `db:"action"`
	Kind              string    `db:"kind"`
	UserID            string    `db:"user_id"`
	SubscriptionID    string    `db:"subscription_id"`
	ProviderPaymentID string    `db:"provider_payment_id"`
	Outcome           string    `db:"outcome"`
	Reason            string    `db:"reason"`
	Note              string    `db:"note"` // what was odd about it; see Note
	OccurredAt        time.Time `db:"occurred_at"`
	ReceivedAt        time.Time `db:"received_at"`
}

// Subscription returns the subscription_id in subscription_state that the event is about; empty
// if none.
func (e ProcessedEvent) Subscription() string {
	switch {
	case e.SubscriptionID != "":
		return e.SubscriptionID
	case e.Kind == KindSubscription && e.UserID != "" && !e.IsReversal():
		return ImplicitSubscription(e.UserID)
	}
	return ""
}

// IsReversal reports whether the event takes a payment back.
func (e ProcessedEvent) IsReversal() bool { return e.Action == string(events.Reverse) }

// IsClaim reports whether the event says that a payment arrived, or what was sold.
func (e ProcessedEvent) IsClaim() bool {
	return e.Action == string(events.Payment) || e.Action == string(events.Checkout)
}

// HasEffect reports whether the event could touch other rows than this one, apart from joining the names of a payment.
func (e ProcessedEvent) HasEffect() bool { return e.Action != string(events.None) }

// DuplicateEvent is a later message with the id of an earlier event.
type DuplicateEvent struct {
	StreamSeq int64  `db:"stream_seq,key"`
	EventID   string `db:"event_id"`
}

// Events has the ids of the events that were folded before, and the records of the events that a
// fold adds.
type Events struct {
	seen  map[string]struct{}
	added []ProcessedEvent
}

// Load adds the id of an event of the database.
func (e *Events) Load(id string) {
	if e.seen == nil {
		e.seen = map[string]struct{}{}
	}
	e.seen[id] = struct{}{}
}

// Has reports whether an event of that id was folded before.
func (e *Events) Has(id string) bool {
	_, seen := e.seen[id]
	return seen
}

// Inserted lists the new records.
func (e *Events) Inserted() []ProcessedEvent { return e.added }

// Seen lists the ids of all events, in no order.
func (e *Events) Seen() []string { return slices.Collect(maps.Keys(e.seen)) }

func (e *Events) clear() {
	clear(e.seen)
	e.added = make([]ProcessedEvent, 0, len(e.added))
}

func (e *Events) add(row ProcessedEvent) {
	e.Load(row.EventID)
	e.added = append(e.added, row)
}
