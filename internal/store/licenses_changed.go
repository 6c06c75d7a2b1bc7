package store

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
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
	users := tables.Set{}
	for _, changed := range [][]projections.Payment{state.Payments.Inserted(), state.Payments.Updated()} {
		for _, payment := range changed {
			if payment.Kind == projections.KindPro {
				users.Add(payment.UserID)
			}
		}
	}
	if len(users) > 0 {
		batch.Queue(NotifyLicenses, LicensesPayload(users.List()))
	}
}

// QueueChanges queues what the fold changed, and wakes the inviter where that concerns it.
func (s *Store) QueueChanges(writes *pgx.Batch, state *projections.State) {
	for _, c := range tables.Changes(state) {
		c.Queue(writes)
	}
	if s.schema == LiveSchema {
		queueLicensesChanged(writes, state)
	}
}
