package store

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// LicensesChanged is the notification channel for changed purchases of licences. When a batch with
// such changes commits, the channel receives the users as a JSON list, or an empty payload if the
// list is too long.
const LicensesChanged = "payfold_licenses"

// Postgres accepts payloads of less than 8000 bytes.
const maxNotification = 7999

// licensesPayload returns the payload for these users.
func licensesPayload(users []string) string {
	text, err := json.Marshal(users)
	if err != nil || len(text) > maxNotification {
		return ""
	}
	return string(text)
}

// ParseLicensesPayload returns the users of a payload. nil means that any user may have
// changed.
func ParseLicensesPayload(payload string) []string {
	var users []string
	if json.Unmarshal([]byte(payload), &users) != nil {
		return nil
	}
	return users
}

// queueLicensesChanged notifies the inviter if the fold has changed a licence, or a payment of one.
func queueLicensesChanged(batch *pgx.Batch, state *projections.State) {
	users := tables.Set{}
	state.Payments.EachChanged(func(p *projections.Payment, _ bool) {
		if p.Kind == projections.KindPro {
			users.Add(p.UserID)
		}
	})
	state.Licenses.EachChanged(func(l *projections.ProLicense, _ bool) { users.Add(l.UserID) })
	if len(users) > 0 {
		batch.Queue("select pg_notify($1, $2)", LicensesChanged, licensesPayload(users.List()))
	}
}
