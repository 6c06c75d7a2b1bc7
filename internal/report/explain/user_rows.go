package explain

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// ReadUser reads what a user has, and the page of the user's history that ends at a place. Credits
// are those of this moment; everything else is as of now. The error is ErrPlace if the moment has not come. Lists have the newest items, at most limit. The error is an UnknownError if no event names the user and no
// table has a row.
func ReadUser(ctx context.Context, database *store.Store, user string, place Place, limit int) (out User, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		out = User{ID: Storable(user)}
		if _, err := tx.Exec(ctx, inOrderOfIndexes); err != nil {
			return err
		}
		if err := out.read(ctx, tx, database.Schema(), place, limit); err != nil {
			return fmt.Errorf("explain a user: %w", err)
		}
		if out.empty() && out.AsOf != nil {
			return UnknownError{fmt.Sprintf("up to seq %d no event and no table names user %s", out.AsOf.Seq, page.Name(user))}
		}
		if out.empty() {
			return UnknownError{"no event and no table names user " + page.Name(user)}
		}
		return nil
	})
	return out, err
}

// inOrderOfIndexes makes Postgres read lists in the order of an index. Its statistics may be older than
// most of the rows; then it would read all events, or sort all events of the user.
const inOrderOfIndexes = tables.PreferIndexes + `, set_config('enable_bitmapscan', 'off', true)`

func (u *User) empty() bool {
	return len(u.Events.Items) == 0 && len(u.Payments.Items) == 0 && len(u.Packs.Items) == 0 && len(u.Grants.Items) == 0 &&
		len(u.Subscriptions.Items) == 0 && u.Credits == nil && u.License == nil && (u.Wallet == nil || u.Wallet.empty())
}

func (u *User) read(ctx context.Context, tx pgx.Tx, schema string, place Place, limit int) (err error) {
	if err := tx.QueryRow(ctx, "select now()").Scan(&u.At); err != nil {
		return err
	}
	if u.Subscriptions, err = Newest(ctx, tx, tables.SubscriptionStates, "user_id = $1 and status is not null",
		"stream_seq desc, subscription_id", limit, u.ID); err != nil {
		return err
	}
	if u.Credits, err = tables.Credits.Row(ctx, tx, "where user_id = $1", u.ID); err != nil {
		return err
	}
	if u.Shown, err = tables.CurrentSubscriptions.Row(ctx, tx, "where user_id = $1", u.ID); err != nil {
		return err
	}
	if u.License, err = tables.Licenses.Row(ctx, tx, "where user_id = $1", u.ID); err != nil {
		return err
	}
	if u.Invitations, err = invitations.OfUser(ctx, tx, u.ID); err != nil {
		return err
	}
	if err := u.readPage(ctx, tx, schema, place, limit); err != nil || schema != store.LiveSchema || u.AsOf != nil {
		return err
	}
	u.Wallet, err = readWallet(ctx, tx, u.ID, limit, u.Subscription == nil)
	return err
}
