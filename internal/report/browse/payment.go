package browse

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// PaymentAnswer shows one payment, and what belongs to it. Its lists have the newest items in
// the order of the log.
type PaymentAnswer struct {
	Moment
	explain.OfPayment
	Names       []string                      `json:"names"`       // under which events may name the payment
	Events      explain.Part[explain.WithWhy] `json:"events"`      // also those that were rejected
	License     *projections.ProLicense       `json:"pro_license"` // of the payment's user; null if it is not of kind pro
	Invitations []invitations.Invitation      `json:"invitations"` // those for this payment, as they are now
}

// Payment looks for the payment with that name: its key, a transaction, or an order. Lists have
// at most limit items. The error is store.ErrUnknown if no event names it.
func Payment(ctx context.Context, db *store.Store, name string, limit int) (PaymentAnswer, error) {
	name = explain.Storable(name)
	return viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (PaymentAnswer, error) {
		out := PaymentAnswer{Moment: now}
		if err := out.read(ctx, tx, name, limit); err != nil {
			return out, fmt.Errorf("read payment %s: %w", name, err)
		}
		if out.Payment == nil && len(out.Events.Items) == 0 {
			return out, store.ErrUnknown
		}
		return out, nil
	})
}

func (a *PaymentAnswer) read(ctx context.Context, tx pgx.Tx, name string, limit int) (err error) {
	if a.OfPayment, a.Names, err = explain.ReadPayment(ctx, tx, a.Schema, name, limit); err != nil {
		return err
	}
	a.Names = cleanNames(a.Names)
	a.Events, err = explainedPart(ctx, tx, "provider_payment_id = any($1)", limit, a.Names)
	if err != nil || a.Payment == nil || a.Payment.Kind != projections.KindPro {
		return err
	}
	if a.License, err = tables.Licenses.Row(ctx, tx, "where user_id = $1", a.Payment.UserID); err != nil {
		return err
	}
	all, err := invitations.OfUser(ctx, tx, a.Payment.UserID)
	for _, one := range all {
		if slices.Contains(a.Names, one.PaymentID) {
			a.Invitations = append(a.Invitations, one)
		}
	}
	return err
}

// explainedPart reads the newest events that a condition selects.
func explainedPart(ctx context.Context, tx pgx.Tx, where string, limit int, args ...any) (out explain.Part[explain.WithWhy], err error) {
	events, err := explain.Newest(ctx, tx, tables.ProcessedEvents, where, explain.NewestEvents, limit, args...)
	if err != nil {
		return out, err
	}
	out.Earlier = events.Earlier
	out.Items, err = explain.Explained(ctx, tx, events.Items)
	return out, err
}

// cleanNames sorts the names, and removes duplicates and the empty name.
func cleanNames(names []string) []string {
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}
