package projections

import (
	"cmp"
	"time"
)

// ProLicense is a user's licence: active as long as some pro payment is not
// fully reversed. The row shows the newest such payment, or the newest of all,
// by the provider's time, then by the order of the log.
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

// chooseLicense sets the user's row again. claimed is the event that brought a
// pro payment, nil where a reversal took one back: the GitHub user of the
// payment that comes to be shown wins over the one before.
func (s *State) chooseLicense(user string, claimed *facts) {
	var best Payment
	for id := range s.proOf[user] {
		candidate, _ := s.Payments.Get(id)
		if best.ProviderPaymentID == "" || candidate.licensesBefore(best) {
			best = candidate
		}
	}
	before, known := s.Licenses.Get(user)
	row := ProLicense{
		UserID: user, Status: statusActive, GitHubUsername: before.GitHubUsername,
		ProductKey: best.ProductKey, ProviderPaymentID: best.ProviderPaymentID,
		ActivatedAt: best.OccurredAt, RevokedAt: best.ReversedAt, EventID: best.EventID, StreamSeq: best.StreamSeq,
	}
	if !best.ReversedAt.IsZero() {
		row.Status = statusRevoked
	}
	if claimed != nil {
		row.GitHubUsername = cmp.Or(before.GitHubUsername, claimed.GitHubUser)
		if claimed.payment.ProviderPaymentID == best.ProviderPaymentID && before.ProviderPaymentID != best.ProviderPaymentID {
			row.GitHubUsername = cmp.Or(claimed.GitHubUser, before.GitHubUsername)
		}
	}
	if !known || row != before {
		s.Licenses.Put(user, row)
	}
}

// licensesBefore orders the pro payments of a user: those not reversed first, then the newest.
func (p Payment) licensesBefore(other Payment) bool {
	if mine, others := p.ReversedAt.IsZero(), other.ReversedAt.IsZero(); mine != others {
		return mine
	}
	if !p.OccurredAt.Equal(other.OccurredAt) {
		return p.OccurredAt.After(other.OccurredAt)
	}
	return p.StreamSeq > other.StreamSeq
}
