package projections

import (
	"cmp"
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
