package promote_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// keepSpending spends, holds, confirms and gives back a user's credits until stop is closed, two credits a round. It
// returns what is left of the credits. exact: the user gets no other credits meanwhile.
func keepSpending(
	ctx context.Context, pool *pgxpool.Pool, user string, left int64, exact bool, stop <-chan struct{},
) (int64, error) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return left, nil
		default:
		}
		key, held := fmt.Sprint(user, "/", i), fmt.Sprint(user, "/held/", i)
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			for _, call := range []struct {
				sql       string
				arguments []any
			}{
				{"select wallet.spend($1, 2, $2)", []any{user, key}},
				{"select wallet.hold($1, 3, $2, '1 hour')", []any{user, held}},
				{"select wallet.confirm($1, 1)", []any{held}},
				{"select wallet.give_back($1, 1) = 1", []any{key}},
			} {
				var done bool
				if err := tx.QueryRow(ctx, call.sql, call.arguments...).Scan(&done); err != nil || !done {
					return fmt.Errorf("%s: %v: %w", call.sql, done, err)
				}
			}
			return nil
		})
		left -= 2
		var balance int64
		if err == nil {
			err = pool.QueryRow(ctx, "select wallet.balance($1)", user).Scan(&balance)
		}
		if err != nil || balance < left || exact && balance != left {
			return 0, fmt.Errorf("%s, round %d: balance %d, left are %d: %w", user, i, balance, left, err)
		}
	}
}

// Two hundred users spend at once beside live projection, a rebuild, its promotion, the way back, and a drop. No call
// returns an error, also none for a deadlock, and no user ever has another balance than the one that is right.
func TestTwoHundredUsersSpendBesideLiveWorkAndPromotions(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	const users, granted = 200, 100_000
	name := func(i int) string { return fmt.Sprint("u", i) }
	w.Log.Fill(t, func(i int) string {
		return fixture.Pack(fmt.Sprint("e", i), fmt.Sprint("p", i), name(i), granted)
	}, users, world.ShopSecret)
	w.Start(ctx, t, 100)
	wait.Until(t, func() bool {
		var buyers int64
		err := w.DB.QueryRow(ctx, "select count(*) from portal.credits").Scan(&buyers)
		return err == nil && buyers == users
	})
	pool, err := pgxpool.New(ctx, w.DSN+" pool_max_conns=8")
	require.NoError(t, err)
	defer pool.Close()
	spending, working := errgroup.WithContext(ctx)
	stop, left := make(chan struct{}), make([]int64, users)
	for i := range users {
		spending.Go(func() (err error) {
			left[i], err = keepSpending(working, pool, name(i), granted, i%2 == 0, stop)
			return err
		})
	}
	bought := 0
	buy := func() {
		for i := 1; i < users; i += 20 {
			bought++
			w.Log.Deliver(t, fixture.Pack(fmt.Sprint("more", bought), fmt.Sprint("more", bought), name(i), 1))
		}
	}
	makeLive := func(next *store.Store) {
		promotion := promote.Promotion{Rebuild: w.Rebuild(t, next, 0), Live: w.Open(ctx, t, store.LiveSchema)}
		var err error
		wait.Until(t, func() bool {
			buy()
			err = promotion.Run(working)
			return err == nil || !testenv.Busy.MatchString(err.Error())
		}, "nothing is promoted")
		require.NoError(t, err)
		buy()
	}
	next := w.Open(ctx, t, "portal_next")
	rebuild := w.Rebuild(t, next, 0)
	require.NoError(t, rebuild.Run(working, w.Head(ctx, t)))
	makeLive(next)
	previous := w.Open(ctx, t, store.PreviousSchema)
	makeLive(previous)
	require.NoError(t, previous.Drop(ctx))
	buy()
	w.WaitApplied(ctx, t)
	close(stop)
	require.NoError(t, spending.Wait())

	sum := int64(bought)
	for _, one := range left {
		require.Less(t, one, int64(granted), "everybody has spent")
		sum += one
	}
	require.Equal(t, sum, w.Number(ctx, t, "select sum(wallet.balance(user_id))::bigint from wallet.account"))
}
