package live_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// Positions move past dropped messages of other partitions, and never past a message of the share
// that is not applied.
func TestPositionsMovePastDroppedButNotWaitingMessages(t *testing.T) {
	t.Parallel()
	const batchSize = 3
	ctx, s := fixture.Tables(t)
	share := []int{1, 3}
	rapid.Check(t, func(r *rapid.T) {
		fixture.Reset(ctx, t, s, fixture.AnyMode)
		p := live.New(live.Config{Store: s, Rules: fixture.AnyMode, BatchSize: batchSize, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry()})
		f := p.Follower("log-1", fixture.Partitions, 0, share...)
		partitions := rapid.SliceOfN(rapid.IntRange(0, fixture.Partitions-1), 1, 30).Draw(r, "partitions")
		mine, waiting := []uint64{}, 0
		for i, partition := range partitions {
			m := message(i+1, fixture.Pack(fmt.Sprint("e", i), fmt.Sprint("p", i), "u1", 10))
			m.Partition = partition
			if partition%2 == 1 {
				mine, waiting = append(mine, m.Seq), waiting+1
			}
			require.NoError(r, f.Receive(ctx, m))
			clear(m.Body) // as a reader does with a buffer that it uses again
			if waiting == batchSize || rapid.IntRange(0, 3).Draw(r, "step") == 0 {
				require.NoError(r, f.Step(ctx))
				waiting = 0
				at, err := s.Positions(ctx)
				require.NoError(r, err)
				require.Equal(r, map[int]uint64{0: 0, 1: m.Seq, 2: 0, 3: m.Seq}, at)
			}
		}
		require.NoError(r, f.Step(ctx))
		rows, err := s.Pool().Query(ctx, "select stream_seq from processed_event where outcome = 'applied' order by stream_seq")
		require.NoError(r, err)
		applied, err := pgx.CollectRows(rows, pgx.RowTo[uint64])
		require.NoError(r, err)
		require.Equal(r, mine, applied)
	})
}

// It has read no message, so it does not know the digest at its positions, and would take the log for another one.
func TestARestartWithoutNewMessagesChangesNoCheckpoint(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	require.NoError(t, follower(t, s, fixture.AnyMode).ApplyLast(ctx, message(1, fixture.Pack("e1", "p1", "u1", 1))))
	before, err := s.Checkpoints(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, before[0].Digest)
	require.NoError(t, followerAt(t, s, fixture.AnyMode, 1).Step(ctx))
	after, err := s.Checkpoints(ctx)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// Otherwise the position would move past it.
func TestNoEventIsAppliedAfterOneWhoseRejectionIsRefused(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "alter table processed_event add constraint unforeseen check (event_id <> 'e1')")
	require.NoError(t, err)
	f := follower(t, s, fixture.AnyMode)
	err = f.ApplyLast(ctx, message(1, fixture.Pack("e1", "p1", "u1", 1)), message(2, fixture.Pack("e2", "p2", "u1", 1)))
	require.ErrorContains(t, err, "the events are not the cause")
	require.Zero(t, fixture.Number(ctx, t, s, "select max(position) from checkpoint"))
}
