package browse

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// SubscriptionAnswer shows one subscription, and what belongs to it. Its lists have the newest
// items in the order of the log.
type SubscriptionAnswer struct {
	Moment
	ID       string                            `json:"subscription_id"`
	State    *projections.SubscriptionState    `json:"subscription_state"` // null if only rejected events and payments name it
	Current  *projections.Subscription         `json:"subscription"`       // the subscription that its user is shown; null if none
	Shown    bool                              `json:"shown"`              // whether its user is shown this subscription
	Payments explain.Part[projections.Payment] `json:"payments"`
	Events   explain.Part[explain.WithWhy]     `json:"events"`
}

// Subscription looks for the subscription of that id. The id of an implicit subscription is
// "implicit:" and its user. Lists have at most limit items. The error is store.ErrUnknown if no
// event names it.
func Subscription(ctx context.Context, db *store.Store, id string, limit int) (SubscriptionAnswer, error) {
	id = explain.Storable(id)
	return viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (SubscriptionAnswer, error) {
		out := SubscriptionAnswer{Moment: now, ID: id}
		if err := out.read(ctx, tx, limit); err != nil {
			return out, fmt.Errorf("read subscription %s: %w", id, err)
		}
		if out.State == nil && len(out.Events.Items) == 0 && len(out.Payments.Items) == 0 {
			return out, store.ErrUnknown
		}
		return out, nil
	})
}

func (a *SubscriptionAnswer) read(ctx context.Context, tx pgx.Tx, limit int) error {
	if err := a.readState(ctx, tx); err != nil {
		return err
	}
	events, payments, of := "subscription_id = $1", "subscription_id = $1 and paid", a.ID
	if user, implicit := strings.CutPrefix(a.ID, projections.ImplicitSubscription("")); implicit {
		events, payments, of = implicitEvents, implicitPayments, user
	}
	var err error
	if a.Payments, err = explain.Newest(ctx, tx, tables.Payments, payments, "stream_seq desc, provider_payment_id", limit, of); err != nil {
		return err
	}
	a.Events, err = explainedPart(ctx, tx, events, limit, of)
	return err
}

// What belongs to the implicit subscription of a user; see projections.ProcessedEvent.Subscription.
// Payments are found by their events because they have no index by user.
const (
	implicitEvents = `user_id = $1 and subscription_id is null and kind = 'subscription'
		and action <> 'reversal'`
	implicitPayments = `subscription_id is null and user_id = $1 and kind = 'subscription' and provider_payment_id in (
		select provider_payment_id from processed_event where user_id = $1 and subscription_id is null and kind = 'subscription')`
)

func (a *SubscriptionAnswer) readState(ctx context.Context, tx pgx.Tx) error {
	state, err := tables.SubscriptionStates.Row(ctx, tx, "where subscription_id = $1", a.ID)
	if err != nil || state == nil {
		return err
	}
	current, err := tables.CurrentSubscriptions.Row(ctx, tx, "where user_id = $1", state.UserID)
	a.State, a.Current = state, current
	a.Shown = current != nil && current.Shows(*state)
	return err
}
