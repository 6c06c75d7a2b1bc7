//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// BenchmarkWallet measures how fast 200 users at once spend credits, through a pool of 40 connections: alone, beside the
// live projection of 200 deliveries a second, of which each fifth is for one of them, and, to compare, beside it with a
// counter of the app's own. A spend is one transaction, and its time includes the wait for a connection. The commits of
// PostgreSQL are durable.
func BenchmarkWallet(b *testing.B) {
	const users, history, perSecond = 200, 20_000, 200
	server := startBenchServer(b)
	w := startFilled(b, history)
	for i := range users {
		body := pack(fmt.Sprint("evt_rich_", i), fmt.Sprint("rich_", i), fmt.Sprint("u_", i), 1e9)
		status, answer, err := w.provider.Deliver(b.Context(), body)
		require.NoError(b, err)
		require.Equal(b, 200, status, answer)
	}
	w.database = server.dsn(server.create(b, ""))
	w.mustRun(b, "rebuild", "--promote")
	w.startProjector(b).WaitFor(b, "msg=projecting")
	pool, err := pgxpool.New(b.Context(), w.database+" pool_max_conns=40")
	require.NoError(b, err)
	defer pool.Close()
	_, err = pool.Exec(b.Context(), `create schema shop;
		create table shop.counter (user_id text primary key, credits bigint not null);
		create table shop.spend (key text primary key, user_id text not null, at timestamptz not null default now());
		insert into shop.counter select 'u_' || i, 1000000000 from generate_series(0, 199) i`)
	require.NoError(b, err)
	next, keys := history, new(atomic.Int64)
	for _, one := range []struct {
		name, sql string
		beside    bool
	}{
		{"alone", walletSpend, false},
		{"beside live projection", walletSpend, true},
		{"a counter beside live projection", counterSpend, true},
	} {
		b.Run(one.name, func(b *testing.B) {
			var load *visibleLoad
			if one.beside {
				load = startVisible(b, w.payfold(), next, perSecond)
				load.take(b, perSecond)
			}
			b.ResetTimer()
			latencies := spendAtOnce(b, pool, one.sql, users, keys)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "spends/s")
			reportLatencies(b, "", latencies)
			if one.beside {
				require.NoError(b, load.stop())
				next = load.next
				reportLatencies(b, "row-", load.seen)
			}
		})
	}
}

const (
	walletSpend  = "select wallet.spend($1, 1, $2)"
	counterSpend = `with paid as (
			update shop.counter set credits = credits - 1 where user_id = $1 and credits >= 1 returning user_id
		)
		insert into shop.spend (key, user_id) select $2, user_id from paid returning true`
)

// spendAtOnce spends a credit b.N times, each user one after the other. It returns how long each spend took.
func spendAtOnce(b *testing.B, pool *pgxpool.Pool, sql string, users int, keys *atomic.Int64) []time.Duration {
	latencies := make([]time.Duration, b.N)
	var next atomic.Int64
	var spending sync.WaitGroup
	for user := range users {
		spending.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				began := time.Now()
				var done bool
				err := pool.QueryRow(context.Background(), sql, fmt.Sprint("u_", user), fmt.Sprint("k", keys.Add(1))).Scan(&done)
				if err != nil || !done {
					b.Errorf("spend %d: %v %v", i, done, err)
					return
				}
				latencies[i] = time.Since(began)
			}
		})
	}
	spending.Wait()
	return latencies
}
