package projections

import (
	"slices"
	"time"
)

// chooseSubscription sets the subscription that the portal shows to a user. It prefers a live one,
// then one that the provider names, then the one that started last, then the last in the log.
func (s *State) chooseSubscription(user string) {
	var best *SubscriptionState
	for _, id := range s.ofUser[user] {
		candidate := s.Subscriptions.find(id)
		if candidate.Status == statusUnknown || candidate.Merged() || candidate.Kind != "" && candidate.Kind != KindSubscription {
			continue
		}
		if best == nil || candidate.before(best) {
			best = candidate
		}
	}
	now := s.Current.find(user)
	if best == nil {
		if now != nil && now.Status != statusUnknown { // the subscription that was shown has another kind or user now
			s.Current.change(user).Status = statusUnknown
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
	if now == nil || *now != chosen {
		s.Current.Put(user, chosen)
	}
}

// before orders the subscriptions of a user: that which chooseSubscription prefers comes first.
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

// chooseLicenses sets the licences of these users. A user may be empty, or listed twice.
func (s *State) chooseLicenses(at time.Time, users ...string) {
	for i, user := range users {
		if user != "" && !slices.Contains(users[:i], user) {
			s.chooseLicense(user, at)
		}
	}
}

// chooseLicense sets a user's licence after one of the user's pro payments changed.
func (s *State) chooseLicense(user string, at time.Time) {
	best := s.bestLicense(user)
	now, known := s.Licenses.Get(user)
	if best.ProviderPaymentID == "" {
		if known && now.active() { // the payment got another kind or user
			now.Status, now.RevokedAt = statusRevoked, at
			s.Licenses.Put(user, now)
		}
		return
	}
	if !known || now != best {
		s.Licenses.Put(user, best)
	}
}

// bestLicense returns the licence of the pro payment that comes first; an empty licence if there is
// no such payment. If the payment of a loaded active licence is not loaded, that licence stands for
// all payments that are not loaded. None of them comes before it, and none of them changes.
func (s *State) bestLicense(user string) ProLicense {
	var best ProLicense
	if loaded, active := s.activeLicenses.Get(user); active {
		if s.Payments.find(loaded.ProviderPaymentID) == nil {
			best = loaded
		}
	}
	for _, id := range s.proOf[user] {
		if candidate := s.Payments.find(id).license(); best.ProviderPaymentID == "" || candidate.before(best) {
			best = candidate
		}
	}
	return best
}
