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
	e.added = e.added[:0]
}

func (e *Events) add(row ProcessedEvent) {
	e.Load(row.EventID)
	e.added = append(e.added, row)
}

// Outcome is what an event did.
type Outcome string

// The outcomes.
const (
	Applied          Outcome = "applied"
	DuplicatePayment Outcome = "duplicate_payment" // its payment was already claimed
	Stale            Outcome = "stale"             // a newer event, or a cancellation, had decided the status of its subscription
	Ignored          Outcome = "ignored"           // its type, kind or status changes nothing that a user has
	Rejected         Outcome = "rejected"          // see the Reason
)

// Reason is why an event was rejected, or NotPaid; empty for every other outcome. A rejected event has claimed and granted
// nothing.
type Reason string

// The reasons. If several apply, the first of them is recorded.
const (
	InvalidText      Reason = "invalid_text"
	WrongMode        Reason = "wrong_mode"
	UnknownKind      Reason = "unknown_kind"
	MissingUser      Reason = "missing_user"
	MissingPaymentID Reason = "missing_payment_id"
	UnknownProduct   Reason = "unknown_product"
	KindMismatch     Reason = "kind_mismatch"
	MissingCredits   Reason = "missing_credits"
	OutOfRange       Reason = "out_of_range"
	PaymentConflict  Reason = "payment_conflict"
	Internal         Reason = "internal"

	// NotPaid is the reason of an ignored event of a payment whose money has not arrived.
	NotPaid Reason = "unpaid"
)

// Reasons lists all reasons of rejections.
var Reasons = []Reason{
	InvalidText, WrongMode, UnknownKind, MissingUser, MissingPaymentID, UnknownProduct, KindMismatch,
	MissingCredits, OutOfRange, PaymentConflict, Internal,
}

// Note says what was odd about an event whose purchase counts, or will count when another event brings what is missing;
// empty for nearly every event.
type Note string

// The notes.
const (
	AmountUnreadable Note = "amount_unreadable" // the amount is not a whole number of at least 0; the purchase counts without it
	UnitsUnreadable  Note = "units_unreadable"  // the number of units is not a whole number of at least 1; it counts as one unit
	BothUnreadable   Note = "amount_and_units_unreadable"
	OneOfSeveral     Note = "one_of_several" // the catalogue sells several of its items, and the purchase grants one of them
)

// Notes lists all notes.
var Notes = []Note{AmountUnreadable, UnitsUnreadable, BothUnreadable, OneOfSeveral}
