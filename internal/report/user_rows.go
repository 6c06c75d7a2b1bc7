package report

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

// UserRows has the rows about one user, all of one moment.
type UserRows struct {
	User          string
	At            time.Time            // by the database's clock; it decides what is available and expired
	Credits       *projections.Credits // of packs; nil where the user never had any
	Packs         Lines                // of kind one_time; their sum is the balance
	Grants        Lines                // of kind subscription
	Subscription  Spendable            // sums of Grants
	Events        Part[projections.ProcessedEvent]
	Payments      Part[projections.Payment]
	Subscriptions Part[projections.SubscriptionState]
	Shown         *projections.Subscription
	License       *projections.ProLicense
	Invitations   []invitations.Invitation // the present ones, also where the tables are as of a sequence
	Related
}

// Spendable sums the credits of subscriptions at one moment.
type Spendable struct {
	Now     int64 `json:"now"`
	Later   int64 `json:"later"` // not available yet
	Expired int64 `json:"expired"`
}

//go:embed user_events.sql
var userEvents string

//go:embed user_payments.sql
var userPayments string

//go:embed spendable.sql
var spendable string

// readUser reads the rows about a user. Lists have at most limit items. The error is
// store.ErrUnknown where no event names the user and no table has a row.
func readUser(ctx context.Context, database *store.Store, user string, limit int) (out UserRows, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		out = UserRows{User: user}
		// The statistics of Postgres may be older than most of the rows: it would read all events.
		if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
			return err
		}
		if err := out.read(ctx, tx, limit); err != nil {
			return fmt.Errorf("explain a user: %w", err)
		}
		if out.empty() {
			return store.ErrUnknown
		}
		return nil
	})
	return out, err
}

func (o *UserRows) empty() bool {
	return len(o.Events.Items) == 0 && len(o.Payments.Items) == 0 && len(o.Packs.Items) == 0 && len(o.Grants.Items) == 0 &&
		len(o.Subscriptions.Items) == 0 && o.Credits == nil && o.License == nil
}

func (o *UserRows) read(ctx context.Context, tx pgx.Tx, limit int) (err error) {
	if err := tx.QueryRow(ctx, "select now()").Scan(&o.At); err != nil {
		return err
	}
	if o.Events, err = newestFound[int64](ctx, tx, tables.ProcessedEvents, userEvents, "where stream_seq = any($1) order by stream_seq", o.User, limit); err != nil {
		return err
	}
	if o.Payments, err = newestFound[string](ctx, tx, tables.Payments, userPayments,
		"where provider_payment_id = any($1) order by stream_seq, provider_payment_id desc", o.User, limit); err != nil {
		return err
	}
	if o.Subscriptions, err = Newest(ctx, tx, tables.SubscriptionStates, "user_id = $1",
		"stream_seq desc, subscription_id", limit, o.User); err != nil {
		return err
	}
	if err := o.readCredits(ctx, tx, limit); err != nil {
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
	o.Related, err = readRelated(ctx, tx, o.Events.Items)
	return err
}

// newestFound reads rows whose keys a query finds, in the order of the log. The query is about a user
// and has a limit. Each of its rows is a key and the number of all keys.
func newestFound[K, R any](ctx context.Context, tx pgx.Tx, table *tables.Table[R], find, tail, user string, limit int) (out Part[R], err error) {
	rows, err := tx.Query(ctx, find, user, limit)
	if err != nil {
		return out, err
	}
	var keys []K
	var key K
	var all int64
	if _, err = pgx.ForEachRow(rows, []any{&key, &all}, func() error {
		keys = append(keys, key)
		return nil
	}); err != nil {
		return out, fmt.Errorf("find rows of %s: %w", table.Name, err)
	}
	if out.Items, err = table.Rows(ctx, tx, tail, keys); err != nil {
		return out, err
	}
	out.Earlier = all - int64(len(out.Items))
	return out, nil
}

func (o *UserRows) readCredits(ctx context.Context, tx pgx.Tx, limit int) (err error) {
	if o.Credits, err = tables.CreditBalances.Row(ctx, tx, "where user_id = $1", o.User); err != nil {
		return err
	}
	if o.Packs, err = NewestLines(ctx, tx, "user_id = $1 and kind = $2", limit, o.User, projections.KindOneTime); err != nil {
		return err
	}
	if o.Grants, err = NewestLines(ctx, tx, "user_id = $1 and kind = $2", limit, o.User, projections.KindSubscription); err != nil {
		return err
	}
	now := &o.Subscription
	return tx.QueryRow(ctx, spendable, o.User).Scan(&now.Now, &now.Later, &now.Expired)
}
