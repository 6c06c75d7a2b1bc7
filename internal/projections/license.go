package projections

import (
	"slices"
	"time"
)

// ProLicense is a user's licence. It is active while at least one pro payment is not fully reversed. If the payments last as
// long as their subscription, only those of the newest period of the subscription count, and while it has not ended. The row
// shows the newest such payment, or the newest of all if there is none, by the provider's time, then by the name of the
// payment. The GitHub user comes from that payment only. So somebody who buys for this user cannot change the GitHub user of
// other purchases.
type ProLicense struct {
	UserID            string    `db:"user_id,key"`
	Status            string    `db:"status"`
	GitHubUsername    string    `db:"github_username"`
	ProductKey        string    `db:"product_key"`
	ProviderPaymentID string    `db:"provider_payment_id"`
	ActivatedAt       time.Time `db:"activated_at"`
	RevokedAt         time.Time `db:"revoked_at"`
	EventID           string    `db:"event_id"` // of the purchase, or of what ended it
	StreamSeq         int64     `db:"stream_seq"`
}

const (
	statusActive  = "active"
	statusRevoked = "revoked"
)

// license returns the licence of a claimed pro payment, as if it were the user's only one.
func (s *State) license(p *Payment) ProLicense {
	row := ProLicense{
		UserID: p.UserID, Status: statusActive, GitHubUsername: p.GitHubUsername,
		ProductKey: p.ProductKey, ProviderPaymentID: p.ProviderPaymentID,
		ActivatedAt: p.OccurredAt, EventID: p.EventID, StreamSeq: p.StreamSeq,
	}
	if !p.ReversedAt.IsZero() {
		row.end(p.ReversedAt, p.ReversedBy, p.ReversedSeq)
	}
	if of := s.Subscriptions.find(p.SubscriptionID); p.Lasts && of != nil && HasEnded(of.Status) && (row.active() || of.OccurredAt.Before(row.RevokedAt)) {
		row.end(of.OccurredAt, of.EventID, of.StreamSeq)
	}
	return row
}

func (l *ProLicense) end(at time.Time, by string, seq int64) {
	l.Status, l.RevokedAt, l.EventID, l.StreamSeq = statusRevoked, at, by, seq
}

func (l *ProLicense) active() bool { return l.Status == statusActive }

// before orders the licences of a user's pro payments: the active ones first, then the newest.
func (l *ProLicense) before(other *ProLicense) bool {
	if l.active() != other.active() {
		return l.active()
	}
	if !l.ActivatedAt.Equal(other.ActivatedAt) {
		return l.ActivatedAt.After(other.ActivatedAt)
	}
	return l.ProviderPaymentID > other.ProviderPaymentID
}

// chooseLicense sets a user's licence, and reports whether it has changed.
func (s *State) chooseLicense(user string, now ledgerEvent) (changed bool) {
	best := s.bestLicense(user)
	row, known := s.Licenses.Get(user)
	if best.ProviderPaymentID == "" {
		if known && row.active() { // the payment got another kind or user
			row.end(now.occurredAt, now.eventID, now.seq)
			s.Licenses.Put(user, row)
			return true
		}
		return false
	}
	if known && row == best {
		return false
	}
	s.Licenses.Put(user, best)
	return true
}

// bestLicense returns the licence of the pro payment that comes first; an empty licence if there is no such payment. If
// the payment of a loaded active licence is not loaded, that licence stands for all payments that are not loaded. None of
// them comes before it, and none of them changes.
func (s *State) bestLicense(user string) ProLicense {
	var best ProLicense
	if loaded, active := s.activeLicenses.Get(user); active && s.Payments.find(loaded.ProviderPaymentID) == nil {
		best = loaded
	}
	newest := s.newestOf(user)
	for _, one := range slices.Backward(s.proOf[user]) {
		p := s.Payments.find(one.id)
		if p.endsWithSubscription() && !s.isOfPeriod(p, newest[p.SubscriptionID]) {
			continue // its period has passed
		}
		if candidate := s.license(p); best.ProviderPaymentID == "" || candidate.before(&best) {
			best = candidate
		}
		if best.active() && !one.at.After(best.ActivatedAt) {
			break // no earlier purchase comes before it
		}
	}
	return best
}

// newestOf returns the user's newest payment for a period of each subscription with which licences end: that of the
// subscription, because later ones may pay for changes; the last one if that of the subscription gives no licence.
func (s *State) newestOf(user string) map[string]*Payment {
	newest := map[string]*Payment{}
	for _, one := range s.proOf[user] {
		p := s.Payments.find(one.id)
		if !p.endsWithSubscription() {
			continue
		}
		last, of := newest[p.SubscriptionID], s.Subscriptions.find(p.SubscriptionID)
		if last == nil || of == nil || last.ProviderPaymentID != of.ProviderPaymentID {
			newest[p.SubscriptionID] = p
		}
	}
	return newest
}

// isOfPeriod reports whether a payment is for the same period as the newest one of its subscription: the period that the
// newest names, or the current one; the provider may have moved its end since, more than once. A payment that names none
// is if it is not older than the newest, or than the current period; it can come a little before the period.
func (s *State) isOfPeriod(p, newest *Payment) bool {
	until, moved, since := newest.PeriodEnd, newest.PeriodEnd, newest.OccurredAt
	if of := s.Subscriptions.find(p.SubscriptionID); of != nil {
		if until.IsZero() {
			until = of.CurrentPeriodEnd
		}
		if !newest.PeriodEnd.IsZero() && !newest.PeriodStart.IsZero() && newest.PeriodStart.Equal(of.CurrentPeriodStart) {
			moved = later(moved, of.CurrentPeriodEnd)
		}
		if start := of.CurrentPeriodStart.Add(-beforePeriod); !of.CurrentPeriodStart.IsZero() && start.Before(since) {
			since = start
		}
	}
	if p == newest || !p.PeriodEnd.IsZero() {
		return p == newest || p.PeriodEnd.Equal(until) || p.PeriodEnd.After(newest.PeriodEnd) && !p.PeriodEnd.After(moved)
	}
	return !p.OccurredAt.Before(since)
}

// endsWithSubscription reports whether the licence that the payment gives ends with a subscription.
func (p *Payment) endsWithSubscription() bool { return p.Lasts && p.SubscriptionID != "" }

// givesAs reports whether the subscription gives the same licences as now, if its payments stay.
func (s *SubscriptionState) givesAs(now *SubscriptionState) bool {
	sameEnd := HasEnded(s.Status) == HasEnded(now.Status) && (!HasEnded(now.Status) || s.EventID == now.EventID)
	return sameEnd && s.ProviderPaymentID == now.ProviderPaymentID && s.CurrentPeriodStart.Equal(now.CurrentPeriodStart) &&
		s.CurrentPeriodEnd.Equal(now.CurrentPeriodEnd)
}
