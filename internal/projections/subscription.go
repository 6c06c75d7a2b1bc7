package projections

import (
	"strings"
	"time"
)

// Subscription is the one subscription of a user that the portal shows.
type Subscription struct {
	UserID             string    `db:"user_id,key"`
	SubscriptionID     string    `db:"subscription_id"` // empty if the provider names none
	ProductKey         string    `db:"product_key"`
	Status             string    `db:"status"`
	CurrentPeriodStart time.Time `db:"current_period_start"`
	CurrentPeriodEnd   time.Time `db:"current_period_end"`
	CanceledAt         time.Time `db:"canceled_at"`
	ProviderPaymentID  string    `db:"provider_payment_id"`
	OccurredAt         time.Time `db:"occurred_at"`
	EventID            string    `db:"event_id"`
	StreamSeq          int64     `db:"stream_seq"`
}

// chooseSubscription sets the row of a user. A live subscription goes before an ended one, then
// one that the provider names, then the one that started last, then the last in the log.
func (s *State) chooseSubscription(user string) {
	var best SubscriptionState
	for id := range s.ofUser[user] {
		candidate, _ := s.Subscriptions.Get(id)
		if candidate.Status == statusUnknown || candidate.Status == statusMerged || candidate.Kind != "" && candidate.Kind != KindSubscription {
			continue
		}
		if best.SubscriptionID == "" || candidate.before(best) {
			best = candidate
		}
	}
	now, shown := s.Current.Get(user)
	if best.SubscriptionID == "" {
		if shown && now.Status != statusUnknown { // the one that was shown is of another kind or user now
			now.Status = statusUnknown
			s.Current.Put(user, now)
		}
		return
	}
	id := best.SubscriptionID
	if best.implicit() {
		id = ""
	}
	chosen := Subscription{
		UserID: user, SubscriptionID: id, ProductKey: best.ProductKey, Status: best.Status,
		CurrentPeriodStart: best.CurrentPeriodStart, CurrentPeriodEnd: best.CurrentPeriodEnd,
		CanceledAt: best.CanceledAt, ProviderPaymentID: best.ProviderPaymentID,
		OccurredAt: best.OccurredAt, EventID: best.EventID, StreamSeq: best.StreamSeq,
	}
	if !shown || now != chosen {
		s.Current.Put(user, chosen)
	}
}

func (s SubscriptionState) before(other SubscriptionState) bool {
	if s.live() != other.live() {
		return s.live()
	}
	if mine, others := s.implicit(), other.implicit(); mine != others {
		return others
	}
	if !s.StartedAt.Equal(other.StartedAt) {
		return s.StartedAt.After(other.StartedAt)
	}
	return s.StreamSeq > other.StreamSeq
}

func (s SubscriptionState) implicit() bool {
	return strings.HasPrefix(s.SubscriptionID, implicitPrefix)
}

func (s SubscriptionState) live() bool {
	switch s.Status {
	case statusActive, "trialing", "past_due", "scheduled_cancel", "paused":
		return true
	}
	return false
}
