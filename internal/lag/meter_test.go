package lag_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

const (
	messages = "payfold_projector_lag_messages"
	seconds  = "payfold_projector_lag_seconds"
)

func TestTheLagRisesWhileNobodyProjectsAndFallsAfterwards(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	m := measure(ctx, t, w)
	require.Empty(t, m.values(t, messages), "there are no tables yet")
	stop := w.Start(ctx, t, 10)
	wait.Until(t, func() bool { return m.is(t, messages, 0) && m.is(t, seconds, 0) })
	require.NoError(t, stop())

	began := time.Now()
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u2", 1))
	wait.Until(t, func() bool { return m.is(t, messages, 2) })
	first := m.values(t, seconds)[""]
	require.Positive(t, first)
	require.LessOrEqual(t, first, time.Since(began).Seconds())
	wait.Until(t, func() bool { return m.values(t, seconds)[""] > first })

	w.Start(ctx, t, 10)
	wait.Until(t, func() bool { return m.is(t, messages, 0) && m.is(t, seconds, 0) })
}

func TestTheLongestLagOfAMinuteIsRemembered(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Start(ctx, t, 10)
	m := measure(ctx, t, w)
	wait.Until(t, func() bool { return m.is(t, messages, 0) })
	require.NoError(t, stop())
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u2", 1))
	wait.Until(t, func() bool { return m.is(t, messages, 2) })
	longest := m.values(t, seconds)[""]
	w.Start(ctx, t, 10)
	wait.Until(t, func() bool { return m.is(t, messages, 0) && m.is(t, seconds, 0) })
	hour := m.running.LastHour()
	require.NotEmpty(t, hour)
	require.LessOrEqual(t, len(hour), 60)
	last := lag.Minute{}
	for _, minute := range hour {
		require.Equal(t, minute.Begin.Truncate(time.Minute), minute.Begin)
		require.True(t, minute.Begin.After(last.Begin), "in order")
		last.Begin, last.Events, last.Seconds = minute.Begin, max(last.Events, minute.Events), max(last.Seconds, minute.Seconds)
	}
	require.EqualValues(t, 2, last.Events)
	require.GreaterOrEqual(t, last.Seconds, longest)
}

func TestTheLagRisesWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	w, m := measureApplied(t)
	m.database.Close()
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	wait.Until(t, func() bool { return m.is(t, messages, 1) && m.values(t, seconds)[""] > 0 })
}

func TestTheLastKnownLagGetsOlderWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	w, m := measureApplied(t)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	wait.Until(t, func() bool { return m.is(t, messages, 1) })
	w.Log.Stop(t)
	stopped := m.values(t, seconds)[""]
	wait.Until(t, func() bool { return m.values(t, seconds)[""] > stopped+1 })
	require.True(t, m.is(t, messages, 1))
}

func TestALagOfNothingIsNotSaidWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Start(ctx, t, 10)
	m := measure(ctx, t, w)
	wait.Until(t, func() bool { return m.is(t, messages, 0) && m.is(t, seconds, 0) })
	w.Log.Stop(t)
	wait.Until(t, func() bool { return len(m.values(t, messages)) == 0 && len(m.values(t, seconds)) == 0 })
}

func TestTheLagOfAnotherLogIsNotTold(t *testing.T) {
	t.Parallel()
	w, m := measureApplied(t)
	_, err := w.DB.Exec(t.Context(), "update payfold.schema_state set log_id = 'another log'")
	require.NoError(t, err)
	wait.Until(t, func() bool { return len(m.values(t, messages)) == 0 })
}

func TestManyMessagesAreCountedByPartition(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	live := w.Open(ctx, t, "portal")
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, live.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode))
	m := measure(ctx, t, w)
	const applied = 300
	w.Log.Fill(t, testenv.ShopEvent, 1500, world.ShopSecret)
	count := int64(w.Head(ctx, t))
	require.Greater(t, count, int64(1000+applied), "so many are not read")
	wait.Until(t, func() bool { return m.is(t, messages, float64(count)) })
	w.ApplyOdd(ctx, t, live, 0, applied)
	want := count - w.Number(ctx, t, "select (select count(*) from portal.processed_event) + (select count(*) from portal.duplicate_event)")
	require.Less(t, want, count)
	wait.Until(t, func() bool { return m.is(t, messages, float64(want)) })
}

func TestWhoWorksOnThePartitionsIsMeasured(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Start(ctx, t, 10)
	second := w.Start(ctx, t, 10)
	m := measure(ctx, t, w)
	const members, unleased, quarantined = "payfold_projector_members", "payfold_projector_unleased_partitions", "payfold_projector_quarantined_events"
	wait.Until(t, func() bool { return m.is(t, members, 2) && m.is(t, unleased, 0) })
	require.NoError(t, second())
	wait.Until(t, func() bool { return m.is(t, members, 1) && m.is(t, unleased, 0) })
	require.True(t, m.is(t, quarantined, 0))
	_, err := w.DB.Exec(ctx, `insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, 3, 'refused' from payfold.schema_state;
		insert into payfold.quarantined_event (log_id, stream_seq, error) values ('another log', 3, 'refused')`)
	require.NoError(t, err)
	wait.Until(t, func() bool { return m.is(t, quarantined, 1) })

	require.NoError(t, stop())
	wait.Until(t, func() bool { return m.is(t, members, 0) && m.is(t, unleased, 8) })
	_, err = w.DB.Exec(ctx, `insert into payfold.member (owner, last_seen) values ('killed', clock_timestamp() - interval '1 hour');
		insert into payfold.lease (partition, owner, expires_at) values (3, 'killed', clock_timestamp() - interval '1 second'), (4, 'lives', clock_timestamp() + interval '1 hour')`)
	require.NoError(t, err)
	wait.Until(t, func() bool { return m.is(t, unleased, 7) })
	require.True(t, m.is(t, members, 0), "its heartbeat is too old")
}

func TestTheProgressOfARebuildIsMeasured(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Project(ctx, t, 40)
	m := measure(ctx, t, w)
	const position, head = "payfold_rebuild_position", "payfold_rebuild_head"
	wait.Until(t, func() bool { return m.is(t, messages, 0) })
	require.Empty(t, m.values(t, position), "the live tables are not rebuilt")

	last := w.Head(ctx, t)
	rebuild := w.Rebuild(t, w.Open(ctx, t, "portal_next"), 10)
	require.NoError(t, rebuild.Run(ctx, 30))
	wait.Until(t, func() bool {
		return m.values(t, position)["portal_next"] == 30 && m.values(t, head)["portal_next"] == float64(last)
	})
	rebuild = w.Rebuild(t, rebuild.Store, 10)
	require.NoError(t, rebuild.Run(ctx, last))
	wait.Until(t, func() bool { return m.values(t, position)["portal_next"] == float64(last) })
	_, err := w.DB.Exec(ctx, "update payfold.schema_state set until_seq = 35 where schema_name = 'portal_next'")
	require.NoError(t, err)
	wait.Until(t, func() bool { return m.values(t, head)["portal_next"] == 35 })
}
