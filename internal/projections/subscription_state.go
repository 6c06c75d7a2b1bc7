package projections

import (
	"cmp"
	"time"
)

// SubscriptionState is one subscription of the provider, also while its user is
// unknown. Status, period and payment are those of the latest event by the
// provider's time, then by the order of the log.
type SubscriptionState struct {
	SubscriptionID     string    `db:"subscription_id,key"`
	UserID             string    `db:"user_id"`
	ProductKey         string    `db:"product_key"`
	Status             string    `db:"status"`
	CurrentPeriodStart time.Time `db:"current_period_start"`
	CurrentPeriodEnd   time.Time `db:"current_period_end"`
	CanceledAt         time.Time `db:"canceled_at"`
	ProviderPaymentID  string    `db:"provider_payment_id"`
	StartedAt          time.Time `db:"started_at"` // the earliest provider time of any of its events
	OccurredAt         time.Time `db:"occurred_at"`
	EventID            string    `db:"event_id"`
	StreamSeq          int64     `db:"stream_seq"`
}

const (
	statusActive   = "active"
	statusCanceled = "canceled"
	// statusUnknown is that of a subscription of which only an update without a
	// status has been heard. It is not live.
	statusUnknown = "unknown"
)

// LoadSubscription puts a subscription as the database has it.
func (s *State) LoadSubscription(row SubscriptionState) {
	if _, here := s.Subscriptions.Get(row.SubscriptionID); here {
		return
	}
	s.Subscriptions.Load(row.SubscriptionID, row)
	s.indexSubscription(row)
}

func (s *State) putSubscription(row SubscriptionState) {
	s.Subscriptions.Put(row.SubscriptionID, row)
	s.indexSubscription(row)
}

func (s *State) indexSubscription(row SubscriptionState) {
	if row.UserID != "" {
		addTo(s.ofUser, row.UserID, row.SubscriptionID)
	}
}

func addTo(index map[string]map[string]bool, key, member string) {
	if index[key] == nil {
		index[key] = map[string]bool{}
	}
	index[key][member] = true
}

// setSubscription gives the event's subscription that status (empty: the one it
// has), claims what waited for its user, and chooses the user's current one
// again. An event older than what the state knows only fills what is empty:
// Stale. A cancellation is final and applies whenever it comes; of several the
// earliest counts.
func (r Rules) setSubscription(s *State, f *facts, status string) Outcome {
	key := f.subscriptionKey()
	state, known := s.Subscriptions.Get(key)
	if !known {
		state = SubscriptionState{SubscriptionID: key, StartedAt: f.OccurredAt, Status: statusUnknown}
	}
	older, final := known && f.OccurredAt.Before(state.OccurredAt), state.Status == statusCanceled
	newest := !older && !final
	earliestCancellation := status == statusCanceled && (older || !final)
	outcome := Applied
	if newest || earliestCancellation {
		state.overwrite(f, status)
	} else {
		outcome = Stale
		state.fill(f)
	}
	state.UserID = cmp.Or(state.UserID, f.user)
	if f.OccurredAt.Before(state.StartedAt) {
		state.StartedAt = f.OccurredAt
	}
	s.putSubscription(state)
	if state.UserID != "" {
		r.claimWaiting(s, key, state.UserID)
		s.chooseSubscription(state.UserID)
	}
	return outcome
}

func (s *SubscriptionState) overwrite(f *facts, status string) {
	s.Status, s.CanceledAt = cmp.Or(status, s.Status), time.Time{}
	if s.Status == statusCanceled {
		s.CanceledAt = firstTime(f.CanceledAt, f.OccurredAt)
	}
	s.ProductKey = cmp.Or(f.ProductKey, s.ProductKey)
	s.ProviderPaymentID = cmp.Or(f.payment.ProviderPaymentID, s.ProviderPaymentID)
	if !f.PeriodStart.IsZero() || !f.PeriodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = f.PeriodStart, f.PeriodEnd
	}
	s.OccurredAt, s.EventID, s.StreamSeq = f.OccurredAt, f.ID, int64(f.Seq)
}

func (s *SubscriptionState) fill(f *facts) {
	s.ProductKey = cmp.Or(s.ProductKey, f.ProductKey)
	s.ProviderPaymentID = cmp.Or(s.ProviderPaymentID, f.payment.ProviderPaymentID)
	if s.CurrentPeriodStart.IsZero() && s.CurrentPeriodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = f.PeriodStart, f.PeriodEnd
	}
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
