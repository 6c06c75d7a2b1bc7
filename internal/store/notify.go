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

// LicensesChanged is the notification channel for the inviter. Its notifications are of the same form, and name the users
// whose purchases of licences have changed.
const LicensesChanged = "payfold_licenses"

// NotifyAll is a statement that notifies apps and the inviter that any user may have changed.
const NotifyAll = `select pg_notify('` + Changed + `', '` + anyUser + `'), pg_notify('` + LicensesChanged + `', '` + anyUser + `')`

// QueueNotifications queues the notifications of what the fold has changed. It is for the live tables.
func QueueNotifications(batch *pgx.Batch, state *projections.State) {
	queueNotification(batch, LicensesChanged, usersOfLicenses(state))
	queueNotification(batch, Changed, changedUsers(state))
}

// notification is the payload of a notification.
type notification struct {
	Users []string `json:"users,omitempty"`
	All   bool     `json:"all,omitempty"`
}

const anyUser = `{"all":true}`

// Postgres accepts payloads of less than 8000 bytes.
const maxNotification = 7999

// payloadOf returns the payload for these users.
func payloadOf(users tables.Set) string {
	size := 0
	for user := range users {
		size += len(user)
	}
	if size < maxNotification {
		if text, err := json.Marshal(notification{Users: users.List()}); err == nil && len(text) <= maxNotification {
			return string(text)
		}
	}
	return anyUser
}

// UsersIn returns the users of a payload. nil means that any user may have changed.
func UsersIn(payload string) []string {
	var said notification
	if json.Unmarshal([]byte(payload), &said) != nil || said.All {
		return nil
	}
	return said.Users
}

func queueNotification(batch *pgx.Batch, channel string, users tables.Set) {
	if len(users) > 0 {
		batch.Queue("select pg_notify($1, $2)", channel, payloadOf(users))
	}
}

// changedUsers returns the users whose rows the fold has changed, and all whom the events of a changed payment or
// subscription name: it may have been of another user before.
func changedUsers(state *projections.State) tables.Set {
	users := tables.Set{}
	for p := range state.Payments.Changed() {
		users.Add(p.Users()...)
	}
	for s := range state.Subscriptions.Changed() {
		users.Add(s.Users()...)
	}
	for s := range state.Current.Changed() {
		users.Add(s.UserID)
	}
	for _, removed := range state.Current.Removed() {
		users.Add(removed.UserID)
	}
	for l := range state.Licenses.Changed() {
		users.Add(l.UserID)
	}
	for _, line := range state.Ledger.Inserted() {
		users.Add(line.UserID)
	}
	return users
}

// usersOfLicenses returns the users of whom the fold has changed a licence, or a payment of one.
func usersOfLicenses(state *projections.State) tables.Set {
	users := tables.Set{}
	for p := range state.Payments.Changed() {
		if p.Kind == projections.KindPro {
			users.Add(p.UserID)
		}
	}
	for l := range state.Licenses.Changed() {
		users.Add(l.UserID)
	}
	return users
}
