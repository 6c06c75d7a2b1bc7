package projections

import "time"

// ProLicense is a user's licence; the row shows the newest pro payment by the
// provider's time, then by the order of the log.
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

// license activates the licence, or fills what an earlier event of the payment
// did not know.
func (s *State) license(f *facts, p Payment) {
	row, known := s.Licenses.Get(p.UserID)
	older := known && (p.OccurredAt.Before(row.ActivatedAt) || row.ProviderPaymentID == p.ProviderPaymentID)
	if older {
		row.GitHubUsername = firstText(row.GitHubUsername, f.GitHubUser)
		if row.ProviderPaymentID == p.ProviderPaymentID {
			row.ProductKey = firstText(row.ProductKey, p.ProductKey)
		}
	} else {
		row = ProLicense{
			UserID: p.UserID, Status: statusActive,
			GitHubUsername: firstText(f.GitHubUser, row.GitHubUsername),
			ProductKey:     p.ProductKey, ProviderPaymentID: p.ProviderPaymentID,
			ActivatedAt: p.OccurredAt, EventID: p.EventID, StreamSeq: p.StreamSeq,
		}
	}
	s.Licenses.Put(p.UserID, row)
}
