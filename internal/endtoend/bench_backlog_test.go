//go:build linux

package endtoend

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// backlog is a log, and tables that lack its last events. These are the backlog, which each
// way of projecting works off on its own copy of the tables.
type backlog struct {
	customers testenv.Customers
	events    int // of the log
	length    int // of the backlog
	// partitions of the log; 0: the default of 64. One projector has all of them, each of two has half.
	partitions int

	*world
	server *benchServer
	before string // the database without the backlog, of which every way gets a copy
	rows   *writtenRows
	after  map[string]string // what the tables are after the backlog, by table
	copied copiedRows        // of the whole log; empty until the first rebuild
	rounds []backlogRound
}

const defaultPartitions = 64

// prepare makes the log, and the tables by a rebuild of the events before the backlog.
func (l *backlog) prepare(b *testing.B) {
	l.length, l.partitions = min(l.length, l.events), cmp.Or(l.partitions, defaultPartitions)
	dir, start := b.TempDir(), l.events-l.length
	l.append(b, dir, 0, start)
	l.before = l.server.create(b, "")
	if start > 0 {
		l.openLog(b, dir)
		l.database = l.server.dsn(l.before)
		l.mustRun(b, "rebuild", "--promote")
		l.ingest.Signal(syscall.SIGTERM)
		require.Zero(b, l.ingest.Exit(b))
	}
	l.append(b, dir, start, l.length)
	l.openLog(b, dir)
	require.EqualValues(b, l.events, l.head(b))
	if start == 0 {
		l.makeTables(b)
	}
	l.record(b)
}

// append appends count events, from the first-th on.
func (l *backlog) append(b *testing.B, dir string, first, count int) {
	log := &testenv.Log{Dir: dir}
	log.Start(b, l.partitions)
	log.Fill(b, func(i int) string { return l.customers.Event(first + i) }, count, secret)
	log.Stop(b)
}

func (l *backlog) openLog(b *testing.B, dir string) { l.world = start(b, dir) }

// makeTables makes empty tables for a log that is only backlog.
func (l *backlog) makeTables(b *testing.B) {
	log, info := l.connect(b)
	defer log.Close()
	tables := l.server.open(b, l.before, store.LiveSchema)
	defer tables.Close()
	require.NoError(b, tables.Prepare(b.Context(), info.LogID, info.Partitions, defaultRules))
}

// record records the writes of live projection for the backlog.
func (l *backlog) record(b *testing.B) {
	name := l.server.create(b, l.before)
	defer l.server.drop(b, name)
	tables := l.server.open(b, name, store.LiveSchema)
	defer tables.Close()
	l.rows = l.recordWrites(b, tables, uint64(l.events-l.length), uint64(l.events))
	l.after = contents(b, l.server.dsn(name))
}

// close stops ingest and deletes the log and the tables.
func (l *backlog) close(b *testing.B) {
	l.ingest.Kill()
	l.server.drop(b, l.before)
	l.rows, l.world.provider = nil, nil
	for _, dir := range []string{l.dir, string(l.copied)} {
		require.NoError(b, os.RemoveAll(dir))
	}
}

// write writes the rows of the backlog and does nothing else.
func (l *backlog) write(b *testing.B) work {
	name := l.server.create(b, l.before)
	defer l.server.drop(b, name)
	tables := l.server.open(b, name, store.LiveSchema)
	defer tables.Close()
	runtime.GC()
	took := l.measure(b, []int{os.Getpid()}, func() { require.NoError(b, l.rows.write(b.Context(), tables)) })
	l.requireWorkedOff(b, l.server.dsn(name))
	return took
}

// project lets this many projectors work off the backlog. They begin when each has its
// share of the partitions. then gets the tables.
func (l *backlog) project(b *testing.B, projectors int, then func()) work {
	name := l.server.create(b, l.before)
	defer l.server.drop(b, name)
	l.database = l.server.dsn(name)
	connection, err := pgx.Connect(b.Context(), l.database)
	require.NoError(b, err)
	defer connection.Close(context.Background())
	hold, err := connection.Begin(b.Context())
	require.NoError(b, err)
	require.NoError(b, store.HoldBatches(b.Context(), hold))
	_, err = hold.Exec(b.Context(), "set local idle_in_transaction_session_timeout = 0")
	require.NoError(b, err)
	var pids []int
	share := fmt.Sprintf("msg=projecting partitions=%d of=%d ", l.partitions/projectors, l.partitions)
	var started []*testenv.Program
	for range projectors {
		program := l.startProjector(b)
		defer program.Kill()
		started, pids = append(started, program), append(pids, program.Pid())
	}
	for _, program := range started {
		program.WaitFor(b, share)
	}
	took := l.measure(b, pids, func() {
		require.NoError(b, hold.Rollback(b.Context()))
		l.awaitWorkedOff(b, connection)
	})
	for _, program := range started {
		program.Kill()
	}
	l.requireWorkedOff(b, l.database)
	then()
	return took
}

func (l *backlog) measure(b *testing.B, pids []int, do func()) work {
	return l.server.measure(b, l.length, l.ingest.Pid(), pids, do)
}

// awaitWorkedOff waits until the last event of each partition is applied. It uses one
// connection: a new one for each query would cost a tenth of the measured work.
func (l *backlog) awaitWorkedOff(b *testing.B, connection *pgx.Conn) {
	seen, since := map[int]uint64{}, time.Now()
	for {
		at, err := store.PositionsIn(b.Context(), connection)
		require.NoError(b, err)
		left := maps.Clone(l.rows.last)
		maps.DeleteFunc(left, func(partition int, last uint64) bool { return at[partition] >= last })
		if len(left) == 0 {
			return
		}
		if !maps.Equal(at, seen) {
			seen, since = at, time.Now()
		}
		require.Less(b, time.Since(since), wait.Timeout, "nothing is applied any more")
		time.Sleep(10 * time.Millisecond)
	}
}

// requireWorkedOff: the tables are those of any other way. It looks only once at each way,
// because that takes long.
func (l *backlog) requireWorkedOff(b *testing.B, dsn string) {
	if len(l.rounds) == 0 {
		require.Equal(b, l.after, contents(b, dsn))
	}
}

// contents returns the number of rows of each table, and a sum of their contents.
func contents(b *testing.B, dsn string) map[string]string {
	b.Helper()
	connection, err := pgx.Connect(b.Context(), dsn)
	require.NoError(b, err)
	defer connection.Close(context.Background())
	out := map[string]string{}
	for _, table := range tables.NameList() {
		var found string
		require.NoError(b, connection.QueryRow(b.Context(),
			"select format('%s rows, %s', count(*), sum(hashtextextended(r::text, 0))) from portal."+table+" r").Scan(&found))
		out[table] = found
	}
	return out
}

// rebuild folds the whole log into an empty database, and copies the same rows.
func (l *backlog) rebuild(b *testing.B) (rebuilt, copied work) {
	name := l.server.create(b, "")
	defer l.server.drop(b, name)
	l.database = l.server.dsn(name)
	rebuilt = l.measureAll(b, func() { l.mustRun(b, "rebuild", "--schema", candidate) })
	if l.copied == "" {
		tables := l.server.open(b, name, candidate)
		l.copied = copyOut(b, tables)
		tables.Close()
	}
	tables := l.server.open(b, name, "copied")
	defer tables.Close()
	return rebuilt, l.measureAll(b, func() { l.copied.copyIn(b, tables, false) })
}

// measureAll measures work on the whole log, without its CPU time.
func (l *backlog) measureAll(b *testing.B, do func()) work {
	return l.server.measure(b, l.events, l.ingest.Pid(), nil, do)
}

func (l *backlog) String() string {
	return fmt.Sprintf("%s to %s, %s", thousands(l.events-l.length+1), thousands(l.events), l.each())
}

// each returns the number of events a customer, as text.
func (l *backlog) each() string {
	return thousands(max(1, l.events/int(l.customers))) + " a customer"
}

// thousands prints a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	var parts []string
	for ; len(text) > 3; text = text[:len(text)-3] {
		parts = append(parts, text[len(text)-3:])
	}
	parts = append(parts, text)
	slices.Reverse(parts)
	return strings.Join(parts, ",")
}
