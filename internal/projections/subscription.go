package projections

import (
	"cmp"
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

// Shows reports whether the portal shows that subscription. It does not if the subscription turned out to be of another
// kind: then the row stays, with another status.
func (s Subscription) Shows(state SubscriptionState) bool {
	id := cmp.Or(s.SubscriptionID, ImplicitSubscription(s.UserID))
	return id == state.SubscriptionID && s.Status == state.Status
}

func (s *SubscriptionState) before(other *SubscriptionState) bool {
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

func (s *SubscriptionState) implicit() bool {
	return strings.HasPrefix(s.SubscriptionID, implicitPrefix)
}

func (s *SubscriptionState) live() bool {
	switch s.Status {
	case statusActive, "trialing", "past_due", "scheduled_cancel", "paused":
		return true
	}
	return false
}
