package projections

import (
	"slices"
	"time"
)

// ProLicense is a user's licence. It is active while at least one pro payment is not fully
// reversed. The row shows the newest such payment, or the newest of all if there is none, by
// the provider's time, then by the order of the log. The GitHub user comes from that payment
// only. So somebody who buys for this user cannot change the GitHub user of other purchases.
type ProLicense struct {
	UserID            string    `db:"user_id,key"`
	Status            string    `db:"status"`
	GitHubUsername    string    `db:"github_username"`
	ProductKey        string    `db:"product_key"`
	ProviderPaymentID string    `db:"provider_payment_id"`
	ActivatedAt       time.Time `db:"activated_at"`
	RevokedAt         time.Time `db:"revoked_at"`
	EventID           string    `db:"event_id"`
	StreamSeq         int64     `db:"stream_seq"`
}

const statusRevoked = "revoked"

// chooseLicenses sets the licences of the users of these payments.
func (s *State) chooseLicenses(at time.Time, payments ...Payment) {
	var chosen []string
	for _, p := range payments {
		if p.Kind == KindPro && p.UserID != "" && !slices.Contains(chosen, p.UserID) {
			chosen = append(chosen, p.UserID)
			s.chooseLicense(p.UserID, at)
		}
	}
}

// chooseLicense sets a user's licence after one of the user's pro payments changed.
func (s *State) chooseLicense(user string, at time.Time) {
	var best Payment
	for id := range s.proOf[user] {
		candidate, _ := s.Payments.Get(id)
		if best.ProviderPaymentID == "" || candidate.licensesBefore(best) {
			best = candidate
		}
	}
	before, known := s.Licenses.Get(user)
	if best.ProviderPaymentID == "" {
		if known && before.Status == statusActive { // the payment got another kind or user
			before.Status, before.RevokedAt = statusRevoked, at
			s.Licenses.Put(user, before)
		}
		return
	}
	row := ProLicense{
		UserID: user, Status: statusActive, GitHubUsername: best.GitHubUsername,
		ProductKey: best.ProductKey, ProviderPaymentID: best.ProviderPaymentID,
		ActivatedAt: best.FirstAt, RevokedAt: best.ReversedAt, EventID: best.EventID, StreamSeq: best.StreamSeq,
	}
	if !best.ReversedAt.IsZero() {
		row.Status = statusRevoked
	}
	if !known || row != before {
		s.Licenses.Put(user, row)
	}
}

// licensesBefore orders the pro payments of a user: first those that are not reversed, then the
// newest.
func (p Payment) licensesBefore(other Payment) bool {
	if mine, others := p.ReversedAt.IsZero(), other.ReversedAt.IsZero(); mine != others {
		return mine
	}
	if !p.FirstAt.Equal(other.FirstAt) {
		return p.FirstAt.After(other.FirstAt)
	}
	return p.StreamSeq > other.StreamSeq
}
