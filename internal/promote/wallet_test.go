package promote

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// spender spends two credits of u1 and gives one back, again and again until the credits are used up, then spends nothing.
// Each time it looks at everything that an app reads, and counts the round. It ends when stop is closed, and returns the
// number of credits that it has spent.
func spender(ctx context.Context, conn *pgx.Conn, name string, rounds *atomic.Int64, stop <-chan struct{}) (
	spent int64, err error,
) {
	defer conn.Close(ctx)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return spent, nil
		default:
		}
		var used int64
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			var balance, granted, usable int64
			err := tx.QueryRow(ctx, "select case when wallet.spend('u1', 2, $1) then 2 - wallet.give_back($1, 1) else 0 end",
				fmt.Sprint(name, i)).Scan(&used)
			if err != nil {
				return err
			}
			err = tx.QueryRow(ctx, `select wallet.balance('u1'), (select sum(usable) from wallet.grants('u1')),
				(select sum(granted - reversed) from credit_grant where user_id = 'u1'), (select count(*) from entitlement)`).
				Scan(&balance, &usable, &granted, nil)
			if err == nil && (balance != usable || balance > granted) {
				return fmt.Errorf("balance %d, usable %d, granted %d", balance, usable, granted)
			}
			return err
		})
		if err != nil {
			return spent, err
		}
		spent += used
		rounds.Add(1)
	}
}

// An app spends and reads while the tables are promoted, promoted back and dropped, with the rights of the portal's role.
func TestNoSpenderNoticesAPromotion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Timeout)
	defer cancel()
	s, portal := fixture.AsProjector(ctx, t)
	fixture.Apply(ctx, t, s, 200)
	stop := make(chan struct{})
	var rounds atomic.Int64
	type result struct {
		spent int64
		err   error
	}
	results := make(chan result, 2)
	for _, name := range []string{"a", "b"} {
		conn, err := pgx.Connect(ctx, portal)
		require.NoError(t, err)
		go func() {
			spent, err := spender(ctx, conn, name, &rounds, stop)
			results <- result{spent, err}
		}()
	}
	more := func() { // a round that began after this moment has ended
		at := rounds.Load()
		wait.Until(t, func() bool { return rounds.Load() > at+int64(cap(results)) })
	}
	more()
	next := fixture.Candidate(ctx, t, s, 150)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	more()
	previous, err := s.OpenSchema(ctx, store.PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	require.NoError(t, makeLive(ctx, previous, promotion(t, previous)))
	more()
	require.NoError(t, previous.Drop(ctx))
	more()
	close(stop)
	var spent int64
	for range cap(results) {
		one := <-results
		require.NoError(t, one.err)
		spent += one.spent
	}
	require.EqualValues(t, 200-spent, fixture.Number(ctx, t, s, "select wallet.balance('u1')"))
}

// The tables of other rules lack a grant that was spent. The spend stays, its grant is named, and the credits are owed.
func TestASpendOutlivesItsGrant(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 3)
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select wallet.spend('u1', 2, 'k1')::int"))
	next := fixture.Candidate(ctx, t, s, 3)
	_, err := s.Pool().Exec(ctx, "delete from portal_next.credit_ledger where provider_payment_id = 'p1'")
	require.NoError(t, err)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	require.EqualValues(t, 0, fixture.Number(ctx, t, s, "select wallet.balance('u1')"))
	without := func() (list []string) {
		list, err := store.Collect(ctx, s.Pool(), "look for grants", pgx.RowTo[string],
			"select format('%s %s/%s %s', user_id, provider_payment_id, part, used) from wallet.without_grant()")
		require.NoError(t, err)
		return list
	}
	require.Equal(t, []string{"u1 p1/1 1"}, without())
	previous, err := s.OpenSchema(ctx, store.PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	require.NoError(t, makeLive(ctx, previous, promotion(t, previous)))
	require.Empty(t, without())
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select wallet.balance('u1')"))
}
