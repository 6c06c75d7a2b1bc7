//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// BenchmarkScaling delivers 200 events a second while projectors join, up to four, and leave again,
// by a stop or by a kill. For each change it prints the time until partitions were shared evenly,
// the time until rows were visible meanwhile, and the number of connections.
func BenchmarkScaling(b *testing.B) {
	w := startFilled(b, 0)
	w.database = testenv.Database(b)
	connection, err := pgx.Connect(b.Context(), w.database)
	require.NoError(b, err)
	defer connection.Close(context.Background())
	var running []*testenv.Program
	join := func() { running = append(running, w.startProjector(b)) }
	leave := func(end func(*testenv.Program)) func() {
		return func() {
			end(running[0])
			running = running[1:]
		}
	}
	killed := leave(func(p *testenv.Program) { p.Kill() })
	stopped := leave(func(p *testenv.Program) {
		p.Signal(syscall.SIGTERM)
		require.Zero(b, p.Exit(b), p.Output())
	})
	join()
	running[0].WaitFor(b, "msg=projecting")
	load := startVisible(b, w.payfold(), 0, 200)
	fmt.Printf("\nTime from delivery to row at 200 deliveries/s, LEASE_TIME=10s:\n\n%-26s %10s %10s %10s %10s %12s\n", "projectors", "even after", "p50", "p99", "longest", "connections")
	for _, change := range []struct {
		what string
		do   func()
		left int
	}{
		{"1, no change", func() {}, 1},
		{"1 to 2", join, 2},
		{"2 to 3", join, 3},
		{"3 to 4", join, 4},
		{"4, no change", func() {}, 4},
		{"4 to 3, one is stopped", stopped, 3},
		{"3 to 2, one is killed", killed, 2},
		{"2 to 1, one is stopped", stopped, 1},
	} {
		load.take(b, 0)
		began := time.Now()
		change.do()
		w.awaitEven(b, connection, change.left)
		even := time.Since(began)
		seen := load.take(b, 2000)
		fmt.Printf("%-26s %10s %10s %10s %10s %12d\n", change.what, even.Round(time.Millisecond), seen[len(seen)/2].Round(100*time.Microsecond),
			seen[len(seen)*99/100].Round(100*time.Microsecond), seen[len(seen)-1].Round(time.Millisecond), w.sessions(b, connection))
	}
	require.NoError(b, load.stop())
}

// awaitEven waits until that many projectors share the partitions evenly.
func (w *world) awaitEven(b *testing.B, connection *pgx.Conn, projectors int) {
	b.Helper()
	wait.Until(b, func() bool {
		var owners, least, most int
		require.NoError(b, connection.QueryRow(b.Context(), `
			select count(*), min(n), max(n)
			from (select count(*) n from payfold.lease where expires_at > now() group by owner) shares`).Scan(&owners, &least, &most))
		return owners == projectors && least == defaultPartitions/projectors && most == (defaultPartitions+projectors-1)/projectors
	}, "%d projectors share the partitions", projectors)
}

// sessions returns how many connections to Postgres the projectors have.
func (w *world) sessions(b *testing.B, connection *pgx.Conn) (count int) {
	b.Helper()
	require.NoError(b, connection.QueryRow(b.Context(),
		"select count(*) from pg_stat_activity where datname = current_database() and application_name like 'payfold-projector %'").Scan(&count))
	return count
}

// BenchmarkProjectors works off the first BACKLOG events of logs with few and many partitions, with one, two and
// four projectors, and prints what each event costs the projectors, PostgreSQL and ingest.
func BenchmarkProjectors(b *testing.B) {
	length := testenv.Number(b, "BACKLOG", 100_000)
	server := startBenchServer(b)
	fmt.Printf("\n%s. Medians of %d rounds.\n\n%-10s %-12s %10s %26s\n%-10s %-12s %10s %12s %13s %13s\n", server.describe(b), backlogRounds,
		"", "", "", "CPU, µs an event:", "partitions", "projectors", "events/s", "projectors", "PostgreSQL", "ingest")
	for _, partitions := range []int{8, defaultPartitions, 512} {
		l := &backlog{customers: longHistory, events: length, length: length, partitions: partitions, server: server}
		l.prepare(b)
		took := map[int][]work{}
		for range backlogRounds {
			for _, projectors := range []int{1, 2, 4} {
				took[projectors] = append(took[projectors], l.project(b, projectors, func() {}))
			}
			l.rounds = append(l.rounds, backlogRound{})
		}
		for _, projectors := range []int{1, 2, 4} {
			figure := func(of func(work) float64) float64 {
				var all []float64
				for _, w := range took[projectors] {
					all = append(all, of(w))
				}
				return median(all)
			}
			fmt.Printf("%-10d %-12d %10.0f %12.0f %13.0f %13.0f\n", partitions, projectors, figure(work.rate),
				figure(func(w work) float64 { return w.perEvent(w.programs) }),
				figure(func(w work) float64 { return w.perEvent(w.postgres) }),
				figure(func(w work) float64 { return w.perEvent(w.logTime) }))
		}
		l.close(b)
	}
}
