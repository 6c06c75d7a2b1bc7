package projections

import "time"

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

const statusActive = "active"

// LoadSubscription puts a subscription as the database has it.
func (s *State) LoadSubscription(row SubscriptionState) {
	s.Subscriptions.Load(row.SubscriptionID, row)
	s.indexSubscription(row)
}

func (s *State) putSubscription(row SubscriptionState) {
	s.Subscriptions.Put(row.SubscriptionID, row)
	s.indexSubscription(row)
}

func (s *State) indexSubscription(row SubscriptionState) {
	if row.UserID == "" {
		return
	}
	if s.ofUser[row.UserID] == nil {
		s.ofUser[row.UserID] = map[string]bool{}
	}
	s.ofUser[row.UserID][row.SubscriptionID] = true
}

// paySubscription makes the event's subscription active, claims what waited for
// its user, and chooses the user's current one again. An event older than what
// the state knows only fills what is empty: Stale.
func (s *State) paySubscription(f *facts, p Payment) Outcome {
	key := f.subscriptionKey()
	state, known := s.Subscriptions.Get(key)
	outcome := Applied
	if !known {
		state = SubscriptionState{SubscriptionID: key, StartedAt: f.OccurredAt}
	}
	if known && f.OccurredAt.Before(state.OccurredAt) {
		outcome = Stale
		state.fillFrom(f, p)
	} else {
		state.overwriteFrom(f, p)
	}
	if state.UserID == "" {
		state.UserID = f.user
	}
	if f.OccurredAt.Before(state.StartedAt) {
		state.StartedAt = f.OccurredAt
	}
	s.putSubscription(state)
	if state.UserID != "" {
		s.claimWaiting(key, state.UserID)
		s.chooseSubscription(state.UserID)
	}
	return outcome
}

func (s *SubscriptionState) overwriteFrom(f *facts, p Payment) {
	s.Status, s.CanceledAt = statusActive, time.Time{}
	s.ProductKey = firstText(f.ProductKey, s.ProductKey)
	s.ProviderPaymentID = firstText(p.ProviderPaymentID, s.ProviderPaymentID)
	if !f.PeriodStart.IsZero() || !f.PeriodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = f.PeriodStart, f.PeriodEnd
	}
	s.OccurredAt, s.EventID, s.StreamSeq = f.OccurredAt, f.ID, int64(f.Seq)
}

func (s *SubscriptionState) fillFrom(f *facts, p Payment) {
	s.ProductKey = firstText(s.ProductKey, f.ProductKey)
	s.ProviderPaymentID = firstText(s.ProviderPaymentID, p.ProviderPaymentID)
	if s.CurrentPeriodStart.IsZero() && s.CurrentPeriodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = f.PeriodStart, f.PeriodEnd
	}
}
