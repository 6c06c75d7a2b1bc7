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
