package live_test

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func follower(t *testing.T, s *store.Store, rules projections.Rules) *live.Follower {
	t.Helper()
	return followerAt(t, s, rules, 0)
}

func followerAt(t *testing.T, s *store.Store, rules projections.Rules, at uint64) *live.Follower {
	t.Helper()
	p := live.New(live.Config{Store: s, Rules: rules, BatchSize: 1, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry()})
	return p.Follower("log-1", fixture.Partitions, at, allPartitions...)
}

var allPartitions = []int{0, 1, 2, 3}

// message is the message at seq, as fixture.Event decodes it.
func message(seq int, body string) events.Message {
	return events.Message{Provider: "provider", Seq: uint64(seq), Body: []byte(body), ReceivedAt: time.Unix(1767348000, 0)}
}

// Any events, in any batches, with and without rows in memory, give the tables of one fold
// from the start.
func TestABacklogGivesTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.AnyMode, fixture.Sold}).Draw(r, "rules")
		fixture.Reset(ctx, t, s, rules)
		bodies := fixture.Bodies(r)
		_, whole := fixture.OneFold(t, rules, bodies)
		f := follower(t, s, rules)
		for at := 0; at < len(bodies); {
			size := rapid.IntRange(1, min(5, len(bodies)-at)).Draw(r, "batch")
			var batch []events.Message
			for range size {
				at++
				batch = append(batch, message(at, bodies[at-1]))
			}
			switch rapid.SampledFrom([]string{"backlog", "backlog", "backlog", "backlog", "memory is full", "last"}).Draw(r, "how") {
			case "backlog":
				require.NoError(r, f.ApplyBacklog(ctx, batch...))
				require.True(r, f.InMemory())
			case "memory is full":
				require.NoError(r, f.End(ctx))
				require.NoError(r, f.ApplyBacklog(ctx, batch...))
			case "last":
				require.NoError(r, f.ApplyLast(ctx, batch...))
				require.False(r, f.InMemory())
			}
		}
		require.NoError(r, f.End(ctx))
		require.True(r, f.NoneWaits())
		fixture.RequireTablesOf(ctx, r, s, whole)
		fixture.RequireSound(ctx, r, s, len(bodies))
	})
}

// The rows in memory are those of the tables only as long as nobody replaces them.
func TestABacklogReadsItsRowsAgainWhenSomebodyReplacedThem(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]string{
		"settle":    "update payfold.schema_state set settled_at = clock_timestamp()",
		"promotion": "update payfold.schema_state set created_at = created_at + interval '1 s'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			f := follower(t, s, fixture.AnyMode)
			require.NoError(t, f.ApplyBacklog(ctx, message(1, fixture.Pack("e1", "p1", "u1", 10))))
			require.NoError(t, f.ApplyBacklog(ctx, message(2, fixture.Pack("e2", "p2", "u2", 10)))) // commits e1
			_, err := s.Pool().Exec(ctx, "begin; update credits set granted = 100, balance = 100 where user_id = 'u1'; "+replaced+"; commit")
			require.NoError(t, err)
			require.NoError(t, f.ApplyBacklog(ctx, message(3, fixture.Pack("e3", "p3", "u1", 10))))
			require.NoError(t, f.ApplyBacklog(ctx, message(4, fixture.Pack("e4", "p4", "u1", 10))))
			require.NoError(t, f.End(ctx))
			require.EqualValues(t, 120, fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"))
			require.EqualValues(t, 4, fixture.Number(ctx, t, s, "select count(*) from processed_event"))
		})
	}
}

// An idle shop has no rows in memory, so an edit by hand is seen.
func TestRowsInMemoryAreDroppedWhenNoMoreMessagesWait(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	f := follower(t, s, fixture.AnyMode)
	require.NoError(t, f.ApplyBacklog(ctx, message(1, fixture.Pack("e1", "p1", "u1", 10))))
	require.NoError(t, f.Step(ctx))
	require.True(t, f.InMemory(), "the batch is being written")
	require.NoError(t, f.Idle(ctx))
	require.False(t, f.InMemory())
	require.EqualValues(t, 10, fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"))
}

// Not parallel: the limit is the process's.
func TestRowsInMemoryAreDroppedWhenTheyReachTheirLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 10))
	ctx, s := fixture.Tables(t)
	f := follower(t, s, fixture.AnyMode)
	require.NoError(t, f.ApplyBacklog(ctx, message(1, fixture.Pack("e1", "p1", "u1", 10))))
	require.NoError(t, f.ApplyBacklog(ctx, message(2, fixture.Pack("e2", "p2", "u2", 10)))) // commits e1
	_, err := s.Pool().Exec(ctx, "update credits set granted = 100, balance = 100 where user_id = 'u1'")
	require.NoError(t, err)
	require.NoError(t, f.ApplyBacklog(ctx, message(3, fixture.Pack("e3", "p3", "u1", 10))))
	require.NoError(t, f.End(ctx))
	require.EqualValues(t, 110, fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"), "the row was read again")
}

// Another projector has written although this one believes that it has all partitions.
func TestABacklogIsFencedByAnyCheckpointThatMoved(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	f := follower(t, s, fixture.AnyMode)
	require.NoError(t, f.ApplyBacklog(ctx, message(1, fixture.Pack("e1", "p1", "u1", 10))))
	require.NoError(t, f.ApplyBacklog(ctx, message(2, fixture.Pack("e2", "p2", "u1", 10)))) // commits e1
	require.NoError(t, f.End(ctx))
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 4, fixture.Pack("e4", "p4", "u1", 10))},
		store.Advance{LogID: "log-1", From: fixture.From(3, 2), To: 4})
	require.NoError(t, err)
	require.NoError(t, f.ApplyBacklog(ctx, message(3, fixture.Pack("e3", "p3", "u1", 10))))
	require.ErrorIs(t, f.End(ctx), store.ErrFenced)
	require.EqualValues(t, 30, fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"))
	require.EqualValues(t, 2, fixture.Number(ctx, t, s, "select min(position) from checkpoint"))
}

// A refused event is found and rejected without the backlog, and the batch that was folded
// meanwhile is folded again.
func TestABacklogGoesOnAfterARefusedEvent(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "alter table credits add constraint unforeseen check (granted <> 13)")
	require.NoError(t, err)
	f := follower(t, s, fixture.AnyMode)
	require.NoError(t, f.ApplyBacklog(ctx, message(1, fixture.Pack("e1", "p1", "u1", 10)), message(2, fixture.Pack("e2", "p2", "u1", 3))))
	require.NoError(t, f.ApplyBacklog(ctx, message(3, fixture.Pack("e3", "p3", "u1", 5))))
	require.NoError(t, f.End(ctx))
	require.EqualValues(t, 15, fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"))
	require.EqualValues(t, 2, fixture.Number(ctx, t, s, "select stream_seq from payfold.quarantined_event"))
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select count(*) from processed_event where outcome = 'rejected'"))
}

// A row that the cache did not have fails the insert; the batch is then applied without it.
func TestABacklogGoesOnAfterAConflict(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	f := follower(t, s, fixture.AnyMode)
	require.NoError(t, f.ApplyBacklog(ctx, message(1, fixture.Pack("e1", "p1", "u1", 10))))
	require.NoError(t, f.ApplyBacklog(ctx, message(2, fixture.Pack("e2", "p2", "u2", 10)))) // looks for u2
	require.NoError(t, f.ApplyBacklog(ctx, message(3, fixture.Pack("e3", "p3", "u1", 10)))) // looks for p3
	require.NoError(t, f.ApplyBacklog(ctx, message(4, fixture.Pack("e4", "p4", "u3", 10)), message(5, fixture.Pack("e5", "p5", "u1", 1))))
	_, err := s.Pool().Exec(ctx, "insert into credits (user_id, balance, granted, reversed, stream_seq) values ('u4', 100, 100, 0, 0)")
	require.NoError(t, err)
	require.NoError(t, f.ApplyBacklog(ctx, message(6, fixture.Pack("e6", "p6", "u4", 10))))
	require.NoError(t, f.End(ctx))
	require.EqualValues(t, 110, fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u4'"))
	require.EqualValues(t, 21, fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"))
}
