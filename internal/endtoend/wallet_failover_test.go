//go:build linux

package endtoend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/history"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// shopper spends as docs/app.md tells apps to: it repeats a call whose answer it did not get.
type shopper struct {
	dsn     string
	user    string
	conn    *pgx.Conn
	lost    *atomic.Int64 // calls whose answer was lost
	answers map[string]int64
}

// temporary are the errors of a server that ends, or that takes no writes yet, beside those of connections.
var temporary = map[string]bool{
	"25006": true,                               // a standby
	"57P01": true, "57P02": true, "57P03": true, // it is shut down, has crashed, or starts
}

// call returns the answer to a call of the wallet.
func (s *shopper) call(ctx context.Context, sql string, args ...any) (answer bool, err error) {
	for ctx.Err() == nil {
		if s.conn == nil || s.conn.IsClosed() {
			if s.conn, err = pgx.Connect(ctx, s.dsn); err != nil {
				_ = backoff.Every(10 * time.Millisecond).Wait(ctx) // no server takes writes
				continue
			}
		}
		err = s.conn.QueryRow(ctx, sql, args...).Scan(&answer)
		if err == nil {
			return answer, nil
		}
		var known *pgconn.PgError
		if errors.As(err, &known) && !temporary[known.Code] {
			return false, err
		}
		s.lost.Add(1)
		_ = s.conn.Close(ctx)
	}
	return false, ctx.Err()
}

// buy spends one credit, at once or by a hold, and notes how many were spent under the key.
func (s *shopper) buy(ctx context.Context, key string, byHold bool) error {
	if !byHold {
		spent, err := s.call(ctx, "select wallet.spend($1, 1, $2)", s.user, key)
		s.note(key, 1, spent)
		return err
	}
	if _, err := s.call(ctx, "select wallet.hold($1, 3, $2, '1 hour')", s.user, key); err != nil {
		return err
	}
	spent, err := s.call(ctx, "select wallet.confirm($1, 2)", key)
	s.note(key, 2, spent)
	return err
}

func (s *shopper) note(key string, amount int64, spent bool) {
	if !spent {
		amount = 0
	}
	s.answers[key] = amount
}

// The primary ends while sessions spend, and the standby, which has every confirmed commit, takes over.
func TestAWalletLosesAndDoublesNothingInAFailOver(t *testing.T) {
	t.Parallel()
	const users, sessions, rounds, granted = 6, 3, 60, 150
	w := setup(t)
	w.database = testenv.PrimaryPostgres(t)
	pair := testenv.SynchronousPair(t, w.database)
	w.database = pair.DSN()
	w.startProjector(t)
	for user := range users {
		w.deliver(t, pack(fmt.Sprint("evt_", user), fmt.Sprint("pay_", user), fmt.Sprint("u_", user), granted))
	}
	w.awaitProjected(t)

	endOfPrimary := history.Follow(t, "an app at the server that takes writes", w.database)
	endOfStandby := history.Follow(t, "an app at the standby", pair.Standby())

	ctx, giveUp := context.WithTimeout(t.Context(), wait.Timeout)
	defer giveUp()
	var done, lost atomic.Int64
	var spending sync.WaitGroup
	quarter, all, faults := make(chan struct{}), make([]*shopper, users*sessions), make(chan error, users*sessions)
	for i := range all {
		s := &shopper{dsn: w.database, user: fmt.Sprint("u_", i%users), lost: &lost, answers: map[string]int64{}}
		all[i] = s
		spending.Go(func() {
			for n := range rounds {
				if err := s.buy(ctx, fmt.Sprintf("key %d %d", i, n), n%2 == 1); err != nil {
					faults <- err
					return
				}
				if done.Add(1) == int64(len(all)*rounds/4) {
					close(quarter)
				}
			}
			faults <- s.conn.Close(context.Background())
		})
	}
	select {
	case <-quarter:
	case err := <-faults:
		require.NoError(t, err, "before the fail-over")
	}
	pair.FailOver(t)
	spending.Wait()
	for range all {
		require.NoError(t, <-faults)
	}
	require.Positive(t, lost.Load(), "the fail-over has interrupted nobody")

	spent, keys := map[string]int64{}, 0
	for _, s := range all {
		for key, amount := range s.answers {
			keys++
			spent[s.user] += amount
			counts := mustQuery[int64](t, w.database, "select coalesce(sum(amount), 0)::bigint from wallet.spend_part where key = $1", key)
			require.Equal(t, amount, counts, "%s, as it was answered", key)
		}
	}
	require.EqualValues(t, keys, mustQuery[int64](t, w.database, "select count(*) from wallet.spend"), "each key counts once")
	require.Equal(t, len(all)*rounds, keys)
	for user, amount := range spent {
		require.EqualValues(t, granted-amount, mustQuery[int64](t, w.database, "select wallet.balance($1)", user), user)
		require.LessOrEqual(t, amount, int64(granted), "never below zero")
		require.Positive(t, amount)
	}
	w.deliver(t, pack("evt_more", "pay_more", "u_0", 5))
	w.awaitProjected(t)
	require.EqualValues(t, granted-spent["u_0"]+5, mustQuery[int64](t, w.database, "select wallet.balance('u_0')"))
	endOfPrimary()
	endOfStandby()
}
