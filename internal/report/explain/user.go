package explain

import (
	"io"
	"time"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// User shows what a user has, and which events gave it.
type User struct{ UserRows }

// Write writes text for people, or one JSON object.
func (u User) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, u.object(), u.text)
}

func (u User) object() any {
	return struct {
		User          string                              `json:"user_id"`
		At            time.Time                           `json:"at"`
		Spendable     *int64                              `json:"spendable"` // null: too many lines to add up
		Credits       row                                 `json:"credits"`
		Packs         Lines                               `json:"one_time_ledger"`
		Subscription  *Spendable                          `json:"subscription_credits"`
		Grants        Lines                               `json:"subscription_ledger"`
		Shown         row                                 `json:"subscription"`
		Subscriptions Part[projections.SubscriptionState] `json:"subscription_states"`
		License       row                                 `json:"pro_license"`
		Invitations   []invitations.Invitation            `json:"invitations,omitempty"`
		Payments      Part[projections.Payment]           `json:"payments"`
		Events        Part[WithWhy]                       `json:"events"`
		Next          *int64                              `json:"next_before"` // the place of the next page; null: this is the last one
	}{
		u.UserRows.User, u.At, u.Spendable(),
		row{u.Credits},
		u.Packs, u.Subscription, u.Grants,
		row{u.Shown},
		u.UserRows.Subscriptions,
		row{u.License},
		u.Invitations,
		u.UserRows.Payments,
		Part[WithWhy]{withWhy(u.Events.Items, u.Related), u.Events.Earlier, u.Events.More},
		u.Next,
	}
}

// Spendable equals the balance in the view credit_balance. It is nil if the ledger has too many
// lines to be added up.
func (u User) Spendable() *int64 {
	if u.Subscription == nil {
		return nil
	}
	sum := u.Packs.Sum + u.Subscription.Now
	return &sum
}
