package store

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// Changed is the notification channel for apps. Each transaction that changes rows of users in the live tables sends one
// notification: {"users":["u_1"]}, or {"all":true} if the users do not fit, or may be any after a promotion or settle.
const Changed = "payfold_changed"

// LicensesChanged is the notification channel for the inviter. Each transaction that changes purchases of licences in the
// live tables sends one notification: the users as a JSON list. It is empty if they do not fit, or may be any after a
// promotion or settle.
const LicensesChanged = "payfold_licenses"

// NotifyAll is a statement that notifies apps and the inviter that any user may have changed.
const NotifyAll = `select pg_notify('` + Changed + `', '{"all":true}'), pg_notify('` + LicensesChanged + `', '')`

// QueueNotifications queues the notifications of what the fold has changed. It is for the live tables.
func QueueNotifications(batch *pgx.Batch, state *projections.State) {
	queueLicensesChanged(batch, state)
	queueChanged(batch, state)
}

// changed is the payload of a notification.
type changed struct {
	Users []string `json:"users,omitempty"`
	All   bool     `json:"all,omitempty"`
}

// changedPayload returns the payload for these users.
func changedPayload(users tables.Set) string {
	size := 0
	for user := range users {
		size += len(user)
	}
	if size < maxNotification {
		if text, err := json.Marshal(changed{Users: users.List()}); err == nil && len(text) <= maxNotification {
			return string(text)
		}
	}
	return `{"all":true}`
}

// queueChanged notifies apps of the users whose rows the fold has changed.
func queueChanged(batch *pgx.Batch, state *projections.State) {
	if users := changedUsers(state); len(users) > 0 {
		batch.Queue("select pg_notify($1, $2)", Changed, changedPayload(users))
	}
}

// changedUsers returns the users whose rows the fold has changed, and all whom the events of a changed payment or
// subscription name: it may have been of another user before.
func changedUsers(state *projections.State) tables.Set {
	users := tables.Set{}
	state.Payments.EachChanged(func(p *projections.Payment, _ bool) { users.Add(p.Users()...) })
	state.Subscriptions.EachChanged(func(s *projections.SubscriptionState, _ bool) { users.Add(s.Users()...) })
	state.Current.EachChanged(func(s *projections.Subscription, _ bool) { users.Add(s.UserID) })
	for _, removed := range state.Current.Removed() {
		users.Add(removed.UserID)
	}
	state.Licenses.EachChanged(func(l *projections.ProLicense, _ bool) { users.Add(l.UserID) })
	for _, line := range state.Ledger.Inserted() {
		users.Add(line.UserID)
	}
	return users
}

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
