package browse

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
)

// InvitationList is a page of the invitations, ordered by user, repository and payment. They are
// the present ones, even if the tables are as of a message.
type InvitationList struct {
	Moment
	Items  []Invitation        `json:"items"`
	Next   *invitations.Key    `json:"next_after"` // for the next page; nil: this is the last one
	Pauses []invitations.Pause `json:"pauses"`     // in force
}

// Invitation is an invitation and what it waits for.
type Invitation struct {
	invitations.Invitation
	Waits string `json:"waits"` // its reason, or what a pending invitation waits for; "-": nothing
}

// Invitations returns a page of at most limit invitations after a key; the zero Key is before
// all. A status limits the list to the invitations that have it.
func Invitations(ctx context.Context, db *store.Store, after invitations.Key, status string, limit int) (InvitationList, error) {
	after = invitations.Key{UserID: explain.Storable(after.UserID), Repository: explain.Storable(after.Repository), PaymentID: explain.Storable(after.PaymentID)}
	return view(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (out InvitationList, err error) {
		out.Moment = now
		if out.Items, out.Next, err = readInvitations(ctx, tx, after, status, limit); err != nil {
			return out, err
		}
		out.Pauses, err = invitations.Pauses(ctx, tx, now.At)
		return out, err
	})
}

// EachInvitation calls do with all invitations of a status, in their order, some at a time; see Rows.Each.
func EachInvitation(ctx context.Context, db *store.Store, status string, do func([]Invitation) error) error {
	var after invitations.Key
	return eachPage(ctx, db, func(ctx context.Context, tx pgx.Tx) ([]Invitation, bool, error) {
		items, next, err := readInvitations(ctx, tx, after, status, batchRows)
		if next != nil {
			after = *next
		}
		return items, next == nil, err
	}, do)
}

func readInvitations(
	ctx context.Context, tx pgx.Tx, after invitations.Key, status string, limit int,
) (items []Invitation, next *invitations.Key, err error) {
	found, err := invitations.Page(ctx, tx, after, explain.Storable(status), limit+1)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range found[:min(len(found), limit)] {
		items = append(items, Invitation{one, one.Why()})
	}
	if len(found) > limit {
		next = new(found[limit-1].Key())
	}
	return items, next, nil
}
