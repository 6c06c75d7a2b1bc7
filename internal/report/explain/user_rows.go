package explain

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// UserRows has the rows about one user, all of one moment. Events, payments and ledger lines are those
// of one page of the user's history.
type UserRows struct {
	User          string
	At            time.Time            // by the database's clock; it decides what is available and expired
	Credits       *projections.Credits // of packs; nil if the user never had any
	Packs         Lines                // of kind one_time; their sum is the balance
	Grants        Lines                // of kind subscription
	Subscription  *Spendable           // sums of Grants; nil if they are not summed
	Events        Part[projections.ProcessedEvent]
	Payments      Part[projections.Payment]
	Subscriptions Part[projections.SubscriptionState]
	Shown         *projections.Subscription
	License       *projections.ProLicense
	Invitations   []invitations.Invitation // the present ones, even if the tables are as of a sequence
	Next          *int64                   // the place of the next page, which is older; nil if this page is the oldest
	Related
}

// Spendable sums the credits of subscriptions at one moment.
type Spendable struct {
	Now     int64 `json:"now"`
	Later   int64 `json:"later"` // not available yet
	Expired int64 `json:"expired"`
}

// readUser reads what a user has, and the page of the user's history that ends before a place. The
// error is store.ErrUnknown if no event names the user and no table has a row.
func readUser(ctx context.Context, database *store.Store, user string, before int64, limit int) (out UserRows, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		out = UserRows{User: user}
		if _, err := tx.Exec(ctx, inOrderOfIndexes); err != nil {
			return err
		}
		if err := out.read(ctx, tx, before, limit); err != nil {
			return fmt.Errorf("explain a user: %w", err)
		}
		if out.empty() {
			return store.ErrUnknown
		}
		return nil
	})
	return out, err
}

// inOrderOfIndexes makes Postgres read lists in the order of an index. Its statistics may be older than
// most of the rows; then it would read all events, or sort all events of the user.
const inOrderOfIndexes = tables.PreferIndexes + `, set_config('enable_bitmapscan', 'off', true)`

func (o *UserRows) empty() bool {
	return len(o.Events.Items) == 0 && len(o.Payments.Items) == 0 && len(o.Packs.Items) == 0 && len(o.Grants.Items) == 0 &&
		len(o.Subscriptions.Items) == 0 && o.Credits == nil && o.License == nil
}

func (o *UserRows) read(ctx context.Context, tx pgx.Tx, before int64, limit int) (err error) {
	if err := tx.QueryRow(ctx, "select now()").Scan(&o.At); err != nil {
		return err
	}
	if o.Subscriptions, err = Newest(ctx, tx, tables.SubscriptionStates, "user_id = $1",
		"stream_seq desc, subscription_id", limit, o.User); err != nil {
		return err
	}
	if o.Credits, err = tables.Credits.Row(ctx, tx, "where user_id = $1", o.User); err != nil {
		return err
	}
	if o.Shown, err = tables.CurrentSubscriptions.Row(ctx, tx, "where user_id = $1", o.User); err != nil {
		return err
	}
	if o.License, err = tables.Licenses.Row(ctx, tx, "where user_id = $1", o.User); err != nil {
		return err
	}
	if o.Invitations, err = invitations.OfUser(ctx, tx, o.User); err != nil {
		return err
	}
	if err := o.readPage(ctx, tx, before, limit); err != nil {
		return err
	}
	o.Related, err = readRelated(ctx, tx, o.Events.Items)
	return err
}
