package explain

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// User shows what a user has, and which events gave it. All its rows are of one moment. Events, payments and
// ledger lines are those of one page of the user's history.
type User struct {
	ID                  string                              `json:"user_id"`
	At                  time.Time                           `json:"at"`                   // by the database's clock; it decides what is available and expired, if AsOf is nil
	AsOf                *AsOf                               `json:"as_of"`                // the moment of Packs, Grants and SubscriptionCredits; nil: now
	Spendable           *int64                              `json:"spendable"`            // see setSpendable
	Credits             *projections.Credits                `json:"credits"`              // of packs; nil if the user never had any
	Packs               Lines                               `json:"one_time_ledger"`      // of kind one_time; their sum is the balance
	SubscriptionCredits *Spendable                          `json:"subscription_credits"` // sums of Grants; nil if they are not summed
	Grants              Lines                               `json:"subscription_ledger"`  // of kind subscription
	Wallet              *Wallet                             `json:"wallet"`               // nil if the tables are not live, or the moment is an older one
	Shown               *projections.Subscription           `json:"subscription"`         // the subscription that the user is shown
	Subscriptions       Part[projections.SubscriptionState] `json:"subscription_states"`
	License             *projections.ProLicense             `json:"pro_license"`
	Invitations         []invitations.Invitation            `json:"invitations,omitempty"` // the present ones, even if the tables are as of a sequence
	Totals              []Total                             `json:"totals,omitzero"`       // of all payments; nil if the user has too many events, or an older moment is shown
	Payments            Part[projections.Payment]           `json:"payments"`
	Events              Part[WithWhy]                       `json:"events"`
	Next                *int64                              `json:"next_before"` // the place of the next page, which is older; nil if this page is the oldest
}

// Spendable sums the credits of subscriptions at one moment.
type Spendable struct {
	Now     int64 `json:"now"`
	Later   int64 `json:"later"` // not available yet
	Expired int64 `json:"expired"`
}

// Write writes text for people, or one JSON object.
func (u User) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, u, u.text)
}

// decides is the moment that decides what is available and expired.
func (u User) decides() time.Time {
	if u.AsOf != nil {
		return u.AsOf.At
	}
	return u.At
}

// setSpendable sets what the user can spend now, as wallet.balance has it. If the tables are not live, or the moment is an
// older one, it is what they grant, as the view credit_balance has it. It is nil if the ledger has too many lines to be
// added up.
func (u *User) setSpendable() {
	switch {
	case u.SubscriptionCredits == nil:
	case u.Wallet != nil:
		u.Spendable = &u.Wallet.Sums.Balance
	default:
		u.Spendable = new(u.Packs.Sum + u.SubscriptionCredits.Now)
	}
}

// ReadUser reads what a user has, and the page of the user's history that ends at a place. Credits are those of this
// moment; everything else is as of now. Lists have the newest items, at most limit. The error is ErrPlace if the moment
// has not come, and an UnknownError if no event names the user and no table has a row.
func ReadUser(ctx context.Context, database *store.Store, user string, place Place, limit int) (out User, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		out = User{ID: Storable(user)}
		if _, err := tx.Exec(ctx, inOrderOfIndexes); err != nil {
			return err
		}
		if err := out.read(ctx, tx, database.Schema(), place, limit); err != nil {
			return fmt.Errorf("explain a user: %w", err)
		}
		out.setSpendable()
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
	u.Wallet, err = readWallet(ctx, tx, u.ID, limit, u.SubscriptionCredits == nil)
	return err
}
