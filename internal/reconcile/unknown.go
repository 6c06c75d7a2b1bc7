package reconcile

import (
	"context"
	_ "embed"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providerapi"
)

//go:embed unknown_refunds.sql
var unknownRefundsSQL string

// unknown returns a difference for each of these that the tables have. The provider knows none of them.
func (c *run) unknown(ctx context.Context, tx pgx.Tx, candidates []candidate) (found []Difference, err error) {
	for _, kind := range kinds {
		var names []string
		for _, one := range candidates {
			if one.kind == kind {
				names = append(names, one.names[0])
			}
		}
		if len(names) == 0 {
			continue
		}
		differences, err := c.unknownOf(ctx, tx, kind, names)
		if err != nil {
			return nil, err
		}
		for _, number := range slices.Sorted(maps.Keys(differences)) {
			d := differences[number]
			d.kind, d.At = kind, d.At.UTC()
			found = append(found, *d)
		}
	}
	return found, nil
}

func (c *run) unknownOf(ctx context.Context, tx pgx.Tx, kind providerapi.Kind, names []string) (map[int]*Difference,
	error,
) {
	switch kind {
	case providerapi.Payments:
		return numbered(ctx, tx, "read payments", func(row pgx.CollectableRow, number *int, d *Difference) error {
			d.What = UnknownPayment
			return row.Scan(number, &d.Payment, &d.User, &d.Tables.Amount, &d.Tables.Currency, &d.Event, &d.At, &d.byOrder)
		}, paymentsSQL, names, names)
	case providerapi.Subscriptions:
		return numbered(ctx, tx, "read subscriptions", func(row pgx.CollectableRow, number *int, d *Difference) error {
			d.What = UnknownSubscription
			var until *time.Time
			var own bool
			err := row.Scan(number, &d.Subscription, &d.User, &d.Tables.Status, &until, &d.Event, &d.At, &own)
			if until != nil {
				d.Tables.Until = until.UTC()
			}
			return err
		}, subscriptionsSQL, names, events.OwnEvents)
	}
	return numbered(ctx, tx, "read refunds", func(row pgx.CollectableRow, number *int, d *Difference) error {
		d.What = UnknownRefund
		err := row.Scan(number, &d.Payment, &d.User, &d.Tables.Amount, &d.Tables.Currency, &d.Event, &d.At)
		d.Refund, d.Tables.Status = names[*number-1], string(events.Succeeded)
		return err
	}, unknownRefundsSQL, names)
}
