package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

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
			both.Go(func() error { return finish(ctx, t, s, tables.InUse) })
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
	finished := make(chan error, 1)
	go func() { finished <- finish(ctx, t, s, tables.Complete) }()
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
		{"on a later table", "payment_facts", false},
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
				var err error
				if c.analyze {
					err = s.Analyze(ctx)
				}
				prepared <- errors.Join(err, finish(ctx, t, s, tables.InUse))
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
	_, err := s.Pool().Exec(ctx, "alter table payment_facts drop constraint payment_facts_transaction_id_key; drop index payment_facts_pro; alter table duplicate_event drop constraint duplicate_event_pkey")
	require.NoError(t, err)
	require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	require.Equal(t, want, fixture.KeysAndIndexes(ctx, t, s))
}

// Autovacuum stays away from the tables until a rebuild has ended, and from no others.
func TestNoAutovacuumWorksOnTheTablesOfARebuild(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	_, err := s.Pool().Exec(ctx, "create table notes () with (autovacuum_enabled = false)")
	require.NoError(t, err)
	without := func() int64 {
		return fixture.Number(ctx, t, live, "select count(*) from pg_class where relnamespace = 'portal_next'::regnamespace and 'autovacuum_enabled=false' = any(reloptions)")
	}
	require.EqualValues(t, 1, without())
	log := fixture.TapeOf(fixture.Pack("e1", "p1", "u1", 1))
	scratch := newRebuild(t, s, fixture.AnyMode, log) // which does not end with indexes
	scratch.Scratch = true
	require.NoError(t, scratch.Run(ctx, 1))
	require.EqualValues(t, len(tables.NameList())+1, without())
	require.NoError(t, newRebuild(t, s, fixture.AnyMode, log).Run(ctx, 1))
	require.EqualValues(t, 1, without())
}

// finish makes the indexes, without anything to fold.
func finish(ctx context.Context, t *testing.T, s *store.Store, stage tables.Stage) error {
	r := newRebuild(t, s, fixture.AnyMode, nil)
	r.Stage = stage
	return r.Run(ctx, 0)
}
