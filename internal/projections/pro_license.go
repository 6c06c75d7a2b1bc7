package projections

import "time"

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

// license returns the licence of a claimed pro payment, as if it were the user's only one.
func (p *Payment) license() ProLicense {
	row := ProLicense{
		UserID: p.UserID, Status: statusActive, GitHubUsername: p.GitHubUsername,
		ProductKey: p.ProductKey, ProviderPaymentID: p.ProviderPaymentID,
		ActivatedAt: p.FirstAt, RevokedAt: p.ReversedAt, EventID: p.EventID, StreamSeq: p.StreamSeq,
	}
	if !p.ReversedAt.IsZero() {
		row.Status = statusRevoked
	}
	return row
}

// before orders the licences of a user's pro payments: the active ones first, then the newest.
func (l ProLicense) before(other ProLicense) bool {
	if l.active() != other.active() {
		return l.active()
	}
	if !l.ActivatedAt.Equal(other.ActivatedAt) {
		return l.ActivatedAt.After(other.ActivatedAt)
	}
	return l.StreamSeq > other.StreamSeq
}

func (l ProLicense) active() bool { return l.Status == statusActive }
