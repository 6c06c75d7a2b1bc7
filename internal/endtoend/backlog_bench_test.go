//go:build linux

package endtoend

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

const (
	// backlogRounds is how often each way is measured. A round measures all ways in turn.
	backlogRounds = 3
	// longHistory is the number of customers whose history grows with the log.
	longHistory = 10_000
)

// backlogRound has the work of each way in one round.
type backlogRound struct {
	written, one, two         work // the backlog
	copied, rebuilt, verified work // the whole log
}

// BenchmarkBacklog measures how fast projectors work off the first BACKLOG events of a log,
// compared with writing the same rows.
func BenchmarkBacklog(b *testing.B) {
	length := testenv.Number(b, "BACKLOG", 100_000)
	all := []*backlog{{customers: longHistory, events: length, length: length}}
	measureBacklogs(b, all, false)
	reportLive(all)
}

// BenchmarkHistory measures the same at the end of longer logs, and rebuild and verify of these
// logs compared with a COPY. Along one axis the logs have the lengths in HISTORY; along the other
// they have EVENTS events, and 1 to 1,000 of each customer. EVENTS=0 omits that axis.
func BenchmarkHistory(b *testing.B) {
	length := testenv.Number(b, "BACKLOG", 100_000)
	var all []*backlog
	for _, text := range strings.Fields(os.Getenv("HISTORY")) {
		events, err := strconv.Atoi(text)
		require.NoError(b, err, "HISTORY is a list of lengths")
		all = append(all, &backlog{customers: longHistory, events: events, length: length})
	}
	events := testenv.Number(b, "EVENTS", 200_000)
	for _, each := range []int{1, 10, 100, 1000} {
		if events > 0 {
			all = append(all, &backlog{customers: testenv.Customers(max(1, events/each)), events: events, length: length})
		}
	}
	measureBacklogs(b, all, true)
	reportLive(all)
	reportRebuild(all)
}

func measureBacklogs(b *testing.B, all []*backlog, rebuilds bool) {
	server := startBenchServer(b)
	fmt.Printf("\nBodies of %d bytes. %s.\n\n", meanSize(testenv.Customers(longHistory).Event), server.describe(b))
	for _, l := range all {
		l.server = server
		l.prepare(b)
		for n := range backlogRounds {
			l.rounds = append(l.rounds, l.measureRound(b, rebuilds))
			l.progress(n)
		}
		l.close(b)
	}
}

func (l *backlog) measureRound(b *testing.B, rebuilds bool) (r backlogRound) {
	r.written = l.write(b)
	r.one = l.project(b, 1, func() {
		if rebuilds {
			r.verified = l.measureAll(b, func() { l.mustRun(b, "verify") })
		}
	})
	r.two = l.project(b, 2, func() {})
	if rebuilds {
		r.rebuilt, r.copied = l.rebuild(b)
	}
	return r
}

// progress prints one round: its figures show how much the machine varies.
func (l *backlog) progress(n int) {
	r := l.rounds[n]
	fmt.Printf("events %s, round %d: the rows written %.0f/s, one projector %.0f/s, two %.0f/s", l, n+1, r.written.rate(), r.one.rate(), r.two.rate())
	if r.rebuilt.events > 0 {
		fmt.Printf(", COPY %.0f/s, rebuild %.0f/s, verify %.0f/s", r.copied.rate(), r.rebuilt.rate(), r.verified.rate())
	}
	fmt.Println()
}

// median returns the median of a figure over the rounds.
func (l *backlog) median(figure func(backlogRound) float64) float64 {
	var all []float64
	for _, r := range l.rounds {
		all = append(all, figure(r))
	}
	return median(all)
}

func reportLive(all []*backlog) {
	fmt.Printf(`
Live projection beside "the same rows, written": the rows that it writes, into tables with the same indexes, in
transactions of %d events, from memory, by the same statements. Each way has its own copy of the tables before these
events. Medians of %d rounds; a share is of the same round.

%-38s %10s %19s %19s
`, defaultBatchSize, backlogRounds, "", "the rows", "one projector", "two projectors")
	fmt.Printf("%-38s %10s %12s %6s %12s %6s\n", "events", "events/s", "events/s", "share", "events/s", "share")
	for _, l := range all {
		fmt.Printf("%-38s %10.0f %12.0f %6.2f %12.0f %6.2f\n", l,
			l.median(func(r backlogRound) float64 { return r.written.rate() }),
			l.median(func(r backlogRound) float64 { return r.one.rate() }),
			l.median(func(r backlogRound) float64 { return r.one.rate() / r.written.rate() }),
			l.median(func(r backlogRound) float64 { return r.two.rate() }),
			l.median(func(r backlogRound) float64 { return r.two.rate() / r.written.rate() }))
	}
	fmt.Printf(`
Where the time goes, in µs an event: the clock, and the CPU of the programs (of this benchmark where it writes the rows),
of PostgreSQL and of ingest, which sends the log. There are %d cores. WAL is in KB an event; a page that changes for the
first time after a checkpoint is in it as a whole.

%-38s %29s %37s %37s
`, runtime.NumCPU(), "", "the rows", "one projector", "two projectors")
	fmt.Printf("%-38s %7s %6s %7s %6s %8s %6s %7s %6s %6s %8s %6s %7s %6s %6s\n", "events",
		"clock", "client", "server", "WAL", "clock", "progr.", "server", "ingest", "WAL", "clock", "progr.", "server", "ingest", "WAL")
	for _, l := range all {
		fmt.Printf("%-38s", l)
		for i, of := range []func(backlogRound) work{
			func(r backlogRound) work { return r.written }, func(r backlogRound) work { return r.one }, func(r backlogRound) work { return r.two },
		} {
			figure := func(pick func(work) float64) float64 {
				return l.median(func(r backlogRound) float64 { return pick(of(r)) })
			}
			fmt.Printf(" %7.1f %6.1f %7.1f",
				figure(func(w work) float64 { return w.perEvent(w.wall) }),
				figure(func(w work) float64 { return w.perEvent(w.programs) }),
				figure(func(w work) float64 { return w.perEvent(w.postgres) }))
			if i > 0 {
				fmt.Printf(" %6.1f", figure(func(w work) float64 { return w.perEvent(w.logTime) }))
			}
			fmt.Printf(" %6.1f ", figure(func(w work) float64 { return w.wal / 1000 / float64(w.events) }))
		}
		fmt.Println()
	}
	fmt.Println()
}

func reportRebuild(all []*backlog) {
	fmt.Printf(`Rebuild of the whole log beside a bare COPY of the same rows into empty tables, from files, table after table, whose
indexes are made after it on two connections, as a rebuild does. Verify compares the tables with a fold of the whole log.

%-38s %10s %19s %19s
`, "", "COPY", "rebuild", "verify")
	fmt.Printf("%-38s %10s %12s %6s %12s %6s\n", "events", "events/s", "events/s", "share", "events/s", "share")
	for _, l := range all {
		fmt.Printf("%-38s %10.0f %12.0f %6.2f %12.0f %6.2f\n", fmt.Sprintf("1 to %s, %s", thousands(l.events), l.each()),
			l.median(func(r backlogRound) float64 { return r.copied.rate() }),
			l.median(func(r backlogRound) float64 { return r.rebuilt.rate() }),
			l.median(func(r backlogRound) float64 { return r.rebuilt.rate() / r.copied.rate() }),
			l.median(func(r backlogRound) float64 { return r.verified.rate() }),
			l.median(func(r backlogRound) float64 { return r.verified.rate() / r.rebuilt.rate() }))
	}
	fmt.Println("\nThe share of verify is of rebuild.")
}
