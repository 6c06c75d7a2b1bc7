package projections

import (
	"cmp"
	"time"
)

// ProcessedEvent is the record of one event: what it did and why. Every message
// of the log is one ProcessedEvent or one DuplicateEvent.
type ProcessedEvent struct {
	EventID           string    `db:"event_id,key"`
	StreamSeq         int64     `db:"stream_seq"`
	EventType         string    `db:"event_type"`
	Kind              string    `db:"kind"`
	UserID            string    `db:"user_id"`
	SubscriptionID    string    `db:"subscription_id"`
	ProviderPaymentID string    `db:"provider_payment_id"`
	Outcome           string    `db:"outcome"`
	Reason            string    `db:"reason"`
	OccurredAt        time.Time `db:"occurred_at"`
	ReceivedAt        time.Time `db:"received_at"`
}

// DuplicateEvent is a later message with the id of an earlier event.
type DuplicateEvent struct {
	StreamSeq int64  `db:"stream_seq,key"`
	EventID   string `db:"event_id"`
}

func (s *State) record(f *facts, outcome Outcome, reason Reason) {
	s.Events.Put(f.ID, ProcessedEvent{
		EventID:           f.ID,
		StreamSeq:         int64(f.Seq),
		EventType:         f.Type,
		Kind:              f.kind,
		UserID:            f.user,
		SubscriptionID:    f.SubscriptionID,
		ProviderPaymentID: cmp.Or(f.payment.ProviderPaymentID, f.PaymentID()),
		Outcome:           string(outcome),
		Reason:            string(reason),
		OccurredAt:        f.OccurredAt,
		ReceivedAt:        f.ReceivedAt,
	})
}
