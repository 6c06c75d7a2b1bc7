package store

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// LicensesChanged is the channel of the database on which a batch that changed
// purchases of licences names their users, when it commits: a list in JSON, or nothing
// where they are too many.
const LicensesChanged = "payfold_licenses"

// NotifyLicenses takes a payload of LicensesPayload.
const NotifyLicenses = "select pg_notify('" + LicensesChanged + "', $1)"

// maxNotification is what Postgres takes.
const maxNotification = 7999

// LicensesPayload is what to notify of these users.
func LicensesPayload(users []string) string {
	text, err := json.Marshal(users)
	if err != nil || len(text) > maxNotification {
		return ""
	}
	return string(text)
}

// LicensesIn is the users of a payload, nil: any.
func LicensesIn(payload string) []string {
	var users []string
	if json.Unmarshal([]byte(payload), &users) != nil {
		return nil
	}
	return users
}

// queueLicensesChanged wakes the inviter where the fold has changed a licence's payment.
func queueLicensesChanged(batch *pgx.Batch, state *projections.State) {
	users := set{}
	for _, changed := range [][]projections.Payment{state.Payments.Inserted(), state.Payments.Updated()} {
		for _, payment := range changed {
			if payment.Kind == projections.KindPro {
				users.add(payment.UserID)
			}
		}
	}
	if len(users) > 0 {
		batch.Queue(NotifyLicenses, LicensesPayload(users.list()))
	}
}
