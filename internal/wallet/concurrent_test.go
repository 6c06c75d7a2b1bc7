package wallet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// buyer spends with a connection of its own, which others end at any moment.
type buyer struct {
	t       *testing.T
	ctx     context.Context
	s       *store.Store
	random  *rand.Rand
	conn    *pgx.Conn
	victims chan<- uint32 // backends to be ended
	answers map[string]string
}

// run executes the statements, each about one key, in one transaction. It repeats the transaction until its outcome is
// known, as an app does.
func (b *buyer) run(statements []string) {
	levels := []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}
	level := levels[b.random.IntN(len(levels))]
	for {
		if b.conn == nil || b.conn.IsClosed() {
			b.conn = fixture.Connect(b.ctx, b.t, b.s)
		}
		if b.random.IntN(20) == 0 {
			select {
			case b.victims <- b.conn.PgConn().PID():
			default:
			}
		}
		answers := make([]string, len(statements))
		err := pgx.BeginTxFunc(b.ctx, b.conn, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
			for i, sql := range statements {
				if err := tx.QueryRow(b.ctx, "select ("+sql+")::text").Scan(&answers[i]); err != nil {
					return err
				}
			}
			return nil
		})
		var known *pgconn.PgError
		switch {
		case err == nil:
			for i, sql := range statements {
				if before, again := b.answers[sql]; again {
					require.Equal(b.t, before, answers[i], sql)
				}
				b.answers[sql] = answers[i]
			}
			return
		case errors.As(err, &known) && known.Code != "40001" && known.Code != "57P01":
			require.NoError(b.t, err)
		}
	}
}

// Sessions that spend, hold, confirm, release and give back at once, at any isolation level, and are ended at any moment:
// each key counts once, and nobody spends more than was granted.
func TestNobodySpendsTwiceThroughKillsOfSessions(t *testing.T) {
	t.Parallel()
	w, s := newWallet(t)
	users := []string{"u1", "u2"}
	for _, user := range users {
		w.grant(t, "a_"+user, user, "subscription", 400, "now() + interval '1 day'")
		w.grant(t, "b_"+user, user, "one_time", 600, "null")
	}
	victims, ended := make(chan uint32), make(chan struct{})
	go func() {
		defer close(ended)
		for pid := range victims {
			_, _ = s.Pool().Exec(w.ctx, "select pg_terminate_backend($1)", pid)
		}
	}()
	const sessions, rounds = 6, 60
	all := make([]map[string]string, sessions)
	var working sync.WaitGroup
	for i := range sessions {
		b := &buyer{
			t: t, ctx: w.ctx, s: s, random: rand.New(rand.NewPCG(uint64(i), 7)), victims: victims,
			answers: map[string]string{},
		}
		all[i] = b.answers
		working.Go(func() {
			for round := range rounds {
				user, amount := users[b.random.IntN(len(users))], 1+b.random.IntN(40)
				key := fmt.Sprintf("%d/%d", i, round)
				if b.random.IntN(4) == 0 { // two sessions use one key, for one thing
					user, amount, key = users[round%2], 7, fmt.Sprintf("shared/%d", round)
				}
				spend := fmt.Sprintf("wallet.spend('%s', %d, 's%s')", user, amount, key)
				hold := fmt.Sprintf("wallet.hold('%s', %d, 'h%s', '1 hour')", user, amount, key)
				b.run([]string{spend})
				b.run([]string{hold, spend})
				switch b.random.IntN(3) {
				case 0:
					b.run([]string{fmt.Sprintf("wallet.confirm('h%s', %d)", key, amount)})
				case 1:
					b.run([]string{fmt.Sprintf("wallet.release('h%s')", key)})
				}
			}
		})
	}
	working.Wait()
	close(victims)
	<-ended
	w.requireSums(t, users...)
	for _, user := range users {
		require.GreaterOrEqual(t, w.balance(t, user), int64(0))
		require.EqualValues(t, 1000, w.balance(t, user)+ask[int64](t, w, `select coalesce(sum(amount), 0)::bigint
			from wallet.spend_part where user_id = $1`, user), "nothing appears or disappears")
	}
	for _, answers := range all {
		for sql, answer := range answers {
			for _, others := range all {
				if other, also := others[sql]; also {
					require.Equal(t, answer, other, sql)
				}
			}
		}
	}
	refused := ask[int64](t, w, "select count(*) from wallet.spend where state = 'refused'")
	require.Positive(t, refused, "the credits ran out")
}

// A connection that is cut between two statements of a transaction leaves nothing: no spend, no lock, no used key.
func TestACutBetweenTwoStatementsChangesNothing(t *testing.T) {
	t.Parallel()
	w, s := newWallet(t)
	w.grant(t, "p1", "u1", "subscription", 50, "now() + interval '1 day'")
	w.grant(t, "p2", "u1", "one_time", 50, "null")
	require.True(t, w.spend(t, "u1", 10, "before"))
	require.True(t, w.hold(t, "u1", 10, "held"))
	state := func() string {
		return ask[string](t, w, `select concat_ws(E'\n', wallet.balance('u1'),
			(select array_agg(g) from wallet.grants('u1') g), (select array_agg(x) from wallet.account x),
			(select array_agg(x order by key) from wallet.spend x),
			(select array_agg(x order by key, number) from wallet.spend_part x))`)
	}
	before := state()
	statements := []string{
		"select wallet.spend('u1', 20, 'k1')", "select wallet.hold('u1', 30, 'h1', '1 hour')",
		"select wallet.confirm('h1', 10)", "select wallet.give_back('k1', 5) > 0", "select wallet.release('held')",
		"select wallet.spend('u1', 1000, 'too much') is false", "select wallet.give_back('before', 10) > 0",
	}
	for cut := 1; cut <= len(statements); cut++ {
		conn := fixture.Connect(w.ctx, t, s)
		_, err := conn.Exec(w.ctx, "begin")
		require.NoError(t, err)
		for _, sql := range statements[:cut] {
			var done bool
			require.NoError(t, conn.QueryRow(w.ctx, sql).Scan(&done))
			require.True(t, done, sql)
		}
		require.NoError(t, conn.PgConn().Conn().Close())
		// The next change of the user waits for the end of the cut session's transaction.
		tx, err := s.Pool().Begin(w.ctx)
		require.NoError(t, err)
		next := wallet{w.ctx, tx}
		require.True(t, next.spend(t, "u1", 80, "k1"), "the key is free, and everything is there")
		require.NoError(t, tx.Rollback(w.ctx))
		require.Equal(t, before, state(), "cut after %d statements", cut)
	}
	w.requireSums(t, "u1")
}
