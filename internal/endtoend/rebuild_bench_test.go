//go:build linux

package endtoend

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// singleEvents is how many events are applied one by one; more would take too long.
const singleEvents = 5000

// BenchmarkRebuild measures the ways to fold a log of EVENTS events of a shop. It also measures the
// least that a rebuild needs: reading the log and writing the rows.
func BenchmarkRebuild(b *testing.B) {
	count := testenv.Number(b, "EVENTS", 200_000)
	w := startFilled(b, count)
	head := w.head(b)
	rateOf := func(work func()) func() float64 {
		return func() float64 {
			began := time.Now()
			work()
			return float64(head) / time.Since(began).Seconds()
		}
	}
	rebuild := &way{name: "rebuild", measure: rateOf(func() { w.mustRun(b, "rebuild") })}
	verify := &way{name: "verify", measure: rateOf(func() { w.mustRun(b, "verify") })}
	indexed := &way{name: "COPY into tables with their indexes", measure: func() float64 { return w.copyWithIndexes(b, rateOf, "indexed", true) }}
	copied := &way{name: "COPY, then the indexes", measure: func() float64 { return w.copyWithIndexes(b, rateOf, "copied", false) }}
	ways := []*way{
		{name: "live projection", measure: rateOf(func() { w.projectLive(b, head) })},
		{name: "live projection, batches of 5000", measure: func() float64 {
			defer w.inOtherDatabase(b)()
			return rateOf(func() { w.projectLive(b, head, "BATCH_SIZE=5000") })()
		}},
		{name: "live projection beside a rebuild", measure: func() float64 { return w.projectBesideRebuild(b, head) }},
		rebuild, verify, indexed, copied,
		{name: "bare read of the stream", measure: rateOf(func() { w.readAll(b, head) })},
		{name: "bare read of its files", measure: rateOf(func() { w.readFiles(b, head) })},
		{name: "bare COPY of the rows", measure: rateOf(func() { w.copyAll(b) })},
		{name: "one transaction an event", measure: func() float64 { return w.projectOneByOne(b) }},
	}
	for range 3 {
		w.database = testenv.Database(b)
		for _, way := range ways {
			way.rates = append(way.rates, way.measure())
		}
		w.requireAllAccounted(b)
	}
	fmt.Printf("\n%d events of a shop, %d bytes each, PostgreSQL without fsync, medians of 3 rounds, each with new processes\n\n", head, meanSize(testenv.ShopEvent))
	live := median(ways[0].rates)
	for _, way := range ways {
		fmt.Printf("%-34s %9.0f events/s %8.2f x live\n", way.name, median(way.rates), median(way.rates)/live)
	}
	fmt.Printf("\nrebuild has %.2f of the rate of COPY into tables with their indexes, %.2f of that of COPY that makes the indexes at its end\n"+
		"as a rebuild does, and verify %.2f of that of rebuild, in the same round.\n\n",
		rebuild.share(indexed), rebuild.share(copied), verify.share(rebuild))
}

// share returns the median of the rates beside those of another way in the same round.
func (w *way) share(of *way) float64 {
	var shares []float64
	for n, rate := range w.rates {
		shares = append(shares, rate/of.rates[n])
	}
	return median(shares)
}

type way struct {
	name    string
	measure func() float64 // returns events/s
	rates   []float64
}

// startFilled starts ingest with a log of that many events.
func startFilled(b *testing.B, count int) *world {
	b.Helper()
	dir := b.TempDir()
	log := &testenv.Log{Dir: dir}
	log.Start(b, 64)
	log.Fill(b, testenv.ShopEvent, count, secret)
	log.Stop(b)
	return start(b, dir)
}

// meanSize returns the mean size of the first bodies.
func meanSize(event func(int) string) int {
	const count = 1000
	size := 0
	for i := range count {
		size += len(event(i))
	}
	return size / count
}

func (w *world) projectLive(b *testing.B, head uint64, env ...string) {
	projector := w.startProjector(b, env...)
	projector.WaitFor(b, "msg=projecting")
	w.awaitPosition(b, head)
	projector.Kill()
}

// mustRun runs a command of the projector, for up to a day.
func (w *world) mustRun(b *testing.B, command ...string) {
	program := w.command(b, command...)
	require.Zero(b, program.ExitWithin(b, 24*time.Hour), program.Output())
}

// readAll reads every message through the server: its folder has no files of the log.
func (w *world) readAll(b *testing.B, head uint64) {
	elsewhere := &world{dir: b.TempDir()}
	require.NoError(b, os.Mkdir(filepath.Join(elsewhere.dir, "nats"), 0o700))
	private, err := filepath.Glob(filepath.Join(w.dir, "nats", "*"))
	require.NoError(b, err)
	for _, file := range append(private, filepath.Join(w.dir, "nats.token")) {
		require.NoError(b, os.Link(file, strings.Replace(file, w.dir, elsewhere.dir, 1)))
	}
	log, _ := elsewhere.connect(b)
	defer log.Close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	require.NoError(b, log.Read(ctx, 1, func(m events.Message, _ string) error {
		if m.Seq == head {
			cancel()
		}
		return nil
	}))
}

// readFiles reads every message from the server's files, as a rebuild does.
func (w *world) readFiles(b *testing.B, head uint64) {
	log, _ := w.connect(b)
	defer log.Close()
	require.NoError(b, log.ReadUntil(b.Context(), 1, head, func(events.Message) error { return nil }))
}

// copyAll copies the rows of the live tables into tables without an index.
func (w *world) copyAll(b *testing.B) {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, w.database)
	require.NoError(b, err)
	defer connection.Close(ctx)
	for _, table := range tables.NameList() {
		_, err := connection.Exec(ctx, "create table copy_of_"+table+" as select * from portal."+table+" limit 0")
		require.NoError(b, err)
		var rows bytes.Buffer
		_, err = connection.PgConn().CopyTo(ctx, &rows, "copy portal."+table+" to stdout (format binary)")
		require.NoError(b, err)
		_, err = connection.PgConn().CopyFrom(ctx, &rows, "copy copy_of_"+table+" from stdin (format binary)")
		require.NoError(b, err)
	}
}

// copyWithIndexes copies the rows of the last rebuild into tables of a schema, which it makes with
// their indexes; see copyIn.
func (w *world) copyWithIndexes(b *testing.B, rateOf func(func()) func() float64, schema string, indexesFirst bool) float64 {
	tables := func(schema string) *store.Store {
		opened, err := store.Open(b.Context(), store.Config{DSN: w.database, Schema: schema, Owner: "bench"})
		require.NoError(b, err)
		return opened
	}
	from, into := tables(candidate), tables(schema)
	defer from.Close()
	defer into.Close()
	rows := copyOut(b, from)
	return rateOf(func() { rows.copyIn(b, into, indexesFirst) })()
}

// projectBesideRebuild returns the rate of live projection into an empty database while a
// rebuild of the same log runs there.
func (w *world) projectBesideRebuild(b *testing.B, head uint64) float64 {
	defer w.inOtherDatabase(b)()
	projector := w.startProjector(b)
	defer projector.Kill()
	position := func() (position int64) {
		position, _ = query[int64](b, w.database, "select coalesce(max(position), 0) from portal.checkpoint")
		return position
	}
	wait.Until(b, func() bool { return position() > 0 })
	began, from := time.Now(), position()
	w.mustRun(b, "rebuild")
	until := position()
	require.Less(b, until, int64(head), "the log is too short: live projection ended first")
	return float64(until-from) / time.Since(began).Seconds()
}

// projectOneByOne commits each event in its own transaction, as a handler without a log
// does.
func (w *world) projectOneByOne(b *testing.B) float64 {
	defer w.inOtherDatabase(b)()
	began := time.Now()
	projector := w.startProjector(b, "BATCH_SIZE=1")
	for applied := int64(0); applied < singleEvents; time.Sleep(10 * time.Millisecond) {
		applied, _ = query[int64](b, w.database, "select coalesce(max(position), 0) from portal.checkpoint")
	}
	projector.Kill()
	return singleEvents / time.Since(began).Seconds()
}

// inOtherDatabase switches to an empty database. The returned function switches back.
func (w *world) inOtherDatabase(b *testing.B) (back func()) {
	kept := w.database
	w.database = testenv.Database(b)
	return func() { w.database = kept }
}
