package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// Two commands that finish the same tables do not get in each other's way.
func TestTwoMakeTheIndexesAtOnce(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	for round := range 10 {
		s, err := live.OpenSchema(ctx, fmt.Sprintf("candidate_%d", round))
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
		var both errgroup.Group
		for range 2 {
			bulk, err := NewBulk(ctx, s, fixture.AnyMode, 1, nil)
			require.NoError(t, err)
			defer bulk.Close()
			both.Go(func() error { return bulk.Finish(ctx, tables.InUse) })
		}
		require.NoError(t, both.Wait())
		require.Equal(t, fixture.KeysAndIndexes(ctx, t, live), strings.ReplaceAll(fixture.KeysAndIndexes(ctx, t, s), s.Schema()+".", "portal."))
	}
}

// The session of a killed command that makes an index still is waited for.
func TestIndexesWaitForASessionThatWasLeftBehind(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	left, err := s.Pool().Begin(ctx)
	require.NoError(t, err)
	_, err = left.Exec(ctx, "create index reversal_payment on reversal (provider_payment_id)")
	require.NoError(t, err)
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, 1, nil)
	require.NoError(t, err)
	defer bulk.Close()
	finished := make(chan error, 1)
	go func() { finished <- bulk.Finish(ctx, tables.Complete) }()
	awaitWaiting(ctx, t, live, "relation = 'portal_next.reversal'::regclass")
	require.NoError(t, left.Commit(ctx))
	require.NoError(t, <-finished)
}

// awaitWaiting waits until somebody waits for such a lock.
func awaitWaiting(ctx context.Context, t *testing.T, s *store.Store, lock string) {
	t.Helper()
	wait.Until(t, func() bool {
		return fixture.Number(ctx, t, s, "select count(*) from pg_locks where not granted and "+lock) > 0
	})
}

// An operator makes an index of his own, as docs/rebuild.md asks for, while the tables are prepared
// for a promotion: neither waits for the other for ever.
func TestAnIndexMadeConcurrentlyIsWaitedForWithoutADeadlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, table string
		analyze     bool // which does not wait
	}{
		{"with statistics", "processed_event", true},
		{"on the first table", "processed_event", false},
		{"on a later table", "payment", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, live := fixture.Tables(t)
			s := fixture.Candidate(ctx, t, live, 0)

			// What holds the index up, and with it its lock, until all else waits for that.
			writer, err := s.Pool().Begin(ctx)
			require.NoError(t, err)
			_, err = writer.Exec(ctx, "lock table "+c.table+" in row exclusive mode")
			require.NoError(t, err)

			mine, prepared := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := s.Pool().Exec(ctx, "create index concurrently mine on "+c.table+" (stream_seq)")
				mine <- err
			}()
			awaitWaiting(ctx, t, live, "locktype = 'virtualxid'")
			go func() {
				bulk, err := NewBulk(ctx, s, fixture.AnyMode, 1, nil)
				if err == nil {
					defer bulk.Close()
					if c.analyze {
						err = s.Analyze(ctx)
					}
					err = errors.Join(err, bulk.Finish(ctx, tables.InUse))
				}
				prepared <- err
			}()
			awaitWaiting(ctx, t, live, fmt.Sprintf("relation = 'portal_next.%s'::regclass and mode = 'ShareRowExclusiveLock'", c.table))
			require.NoError(t, writer.Commit(ctx))
			require.NoError(t, <-mine)
			require.NoError(t, <-prepared)
			require.EqualValues(t, 1, fixture.Number(ctx, t, live, "select count(*) from pg_index where indexrelid = 'portal_next.mine'::regclass and indisvalid"))
		})
	}
}

// Somebody may have dropped them.
func TestLiveTablesGetTheKeysTheyLack(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	want := fixture.KeysAndIndexes(ctx, t, s)
	_, err := s.Pool().Exec(ctx, "alter table payment drop constraint payment_transaction_id_key; drop index payment_pro; alter table duplicate_event drop constraint duplicate_event_pkey")
	require.NoError(t, err)
	require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	require.Equal(t, want, fixture.KeysAndIndexes(ctx, t, s))
}

// While a rebuild goes on, its tables have no indexes. A chunk after the first knows the events of the tables, and
// where their rows are.
func TestIndexesAreMadeAtTheEnd(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	event := func(seq uint64) events.Event {
		return fixture.Event(t, seq, `{"id":"e1","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`)
	}
	const keys = "select count(*) from pg_index where indrelid = 'portal_next.processed_event'::regclass"
	const all = "select count(*) from pg_index join pg_class on pg_class.oid = indrelid where relnamespace = 'portal_next'::regnamespace and relname = any($1)"
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, 2, nil)
	require.NoError(t, err)
	defer bulk.Close()
	require.NoError(t, fixture.Fold(ctx, bulk, []events.Event{event(1)}))
	require.NoError(t, bulk.Save(ctx, 1, nil))
	require.NoError(t, fixture.Fold(ctx, bulk, []events.Event{event(2)}))
	var made int
	require.NoError(t, live.Pool().QueryRow(ctx, all, tables.NameList()).Scan(&made))
	require.Zero(t, made)
	require.NoError(t, bulk.Save(ctx, 2, nil))
	require.NoError(t, bulk.Finish(ctx, tables.Complete))
	require.EqualValues(t, 1, fixture.Number(ctx, t, live, keys))
	require.EqualValues(t, 1, fixture.Number(ctx, t, live, "select count(*) from portal_next.processed_event"))
	require.EqualValues(t, 1, fixture.Number(ctx, t, live, "select count(*) from portal_next.duplicate_event where stream_seq = 2"))
}

// Autovacuum stays away from the tables until a rebuild has ended, and from no others.
func TestNoAutovacuumWorksOnTheTablesOfARebuild(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	_, err := s.Pool().Exec(ctx, "create table notes () with (autovacuum_enabled = false)")
	require.NoError(t, err)
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, 1, nil)
	require.NoError(t, err)
	defer bulk.Close()
	without := func() int64 {
		return fixture.Number(ctx, t, live, "select count(*) from pg_class where relnamespace = 'portal_next'::regnamespace and 'autovacuum_enabled=false' = any(reloptions)")
	}
	require.EqualValues(t, 1, without())
	require.NoError(t, fixture.Fold(ctx, bulk, []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1))}))
	require.NoError(t, bulk.Save(ctx, 1, nil))
	require.EqualValues(t, len(tables.NameList())+1, without())
	require.NoError(t, bulk.Finish(ctx, tables.Complete))
	require.EqualValues(t, 1, without())
}

// Rows that are added where there are indexes are written in the order of one of them.
func TestLaterChunksWriteTheirRowsInOrder(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, 9, nil)
	require.NoError(t, err)
	defer bulk.Close()
	bulk.known.exact = false
	users := []string{"u0", "a user with a long name 2", "u1", "u", "a user with a long name 1", "u1", "b"}
	for i, user := range users {
		seq := uint64(i + 1)
		require.NoError(t, fixture.Fold(ctx, bulk, []events.Event{fixture.Event(t, seq, fixture.Pack(fmt.Sprint("e", seq), fmt.Sprint("p", 9-seq), user, 1))}))
		if i == 0 {
			require.NoError(t, bulk.Save(ctx, seq, nil))
		}
	}
	require.NoError(t, bulk.Save(ctx, uint64(len(users)), nil))
	written := func(table, column string) (list []string) {
		rows, err := s.Pool().Query(ctx, fmt.Sprintf("select %s from %s where stream_seq > 1 order by ctid", column, table))
		require.NoError(t, err)
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return list
	}
	require.Equal(t, []string{
		"a user with a long name 1 5", "a user with a long name 2 2", "b 7", "u 4", "u1 3", "u1 6",
	}, written("credit_ledger", "user_id || ' ' || stream_seq"))
	require.Equal(t, []string{"p2", "p3", "p4", "p5", "p6", "p7"}, written("payment", "provider_payment_id"))
}
