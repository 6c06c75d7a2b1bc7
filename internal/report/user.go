package report

import (
	"io"
	"time"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
)

// User is what a user has, and from what.
type User struct{ UserStory }

// Write writes it for a person, or as one JSON object.
func (u User) Write(w io.Writer, asJSON bool) error {
	return write(w, asJSON, u.object(), u.text)
}

// told is an event with what it did.
type told struct {
	row
	why string
}

// MarshalJSON implements json.Marshaler.
func (t told) MarshalJSON() ([]byte, error) {
	columns, err := t.row.MarshalJSON()
	if err != nil {
		return nil, err
	}
	sentence, err := marshal(t.why)
	if err != nil {
		return nil, err
	}
	return append(append(append(columns[:len(columns)-1], `,"why":`...), sentence...), '}'), nil
}

func toldOf(list Part[projections.ProcessedEvent], around Around) part {
	out := part{Items: make([]any, len(list.Items)), Earlier: list.Earlier}
	for i, e := range list.Items {
		out.Items[i] = told{row{e}, why(e, around)}
	}
	return out
}

func (u User) object() any {
	return struct {
		User          string                   `json:"user_id"`
		At            time.Time                `json:"at"`
		Spendable     int64                    `json:"spendable"`
		Credits       row                      `json:"credits"`
		Packs         lines                    `json:"one_time_ledger"`
		Subscription  Spendable                `json:"subscription_credits"`
		Grants        lines                    `json:"subscription_ledger"`
		Shown         row                      `json:"subscription"`
		Subscriptions part                     `json:"subscription_states"`
		License       row                      `json:"pro_license"`
		Invitations   []invitations.Invitation `json:"invitations,omitempty"`
		Payments      part                     `json:"payments"`
		Events        part                     `json:"events"`
	}{
		u.UserStory.User, u.At, u.spendable(),
		row{u.Credits},
		linesOf(u.Packs), u.Subscription, linesOf(u.Grants),
		row{u.Shown},
		partOf(u.UserStory.Subscriptions),
		row{u.License},
		u.Invitations,
		partOf(u.UserStory.Payments), toldOf(u.Events, u.Around),
	}
}

// spendable is what view credit_balance says.
func (u User) spendable() int64 { return u.Packs.Sum + u.Subscription.Now }
