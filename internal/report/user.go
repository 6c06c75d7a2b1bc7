package report

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

// explainedEvent is an event with the sentences that explain it.
type explainedEvent struct {
	row
	why string
}

// MarshalJSON implements json.Marshaler.
func (t explainedEvent) MarshalJSON() ([]byte, error) {
	columns, err := t.row.MarshalJSON()
	if err != nil {
		return nil, err
	}
	sentence, err := page.Marshal(t.why)
	if err != nil {
		return nil, err
	}
	return append(append(append(columns[:len(columns)-1], `,"why":`...), sentence...), '}'), nil
}

func explainedEvents(list Part[projections.ProcessedEvent], related Related) part {
	out := part{Items: make([]any, len(list.Items)), Earlier: list.Earlier}
	for i, e := range list.Items {
		out.Items[i] = explainedEvent{row{e}, Why(e, related)}
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
		u.UserRows.User, u.At, u.spendable(),
		row{u.Credits},
		linesOf(u.Packs), u.Subscription, linesOf(u.Grants),
		row{u.Shown},
		partOf(u.UserRows.Subscriptions),
		row{u.License},
		u.Invitations,
		partOf(u.UserRows.Payments), explainedEvents(u.Events, u.Related),
	}
}

// spendable equals the balance in the view credit_balance.
func (u User) spendable() int64 { return u.Packs.Sum + u.Subscription.Now }
