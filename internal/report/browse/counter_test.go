package browse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// counter returns a Counter that runs until the test ends.
func counter(ctx context.Context, t *testing.T) *Counter {
	t.Helper()
	c := NewCounter(testenv.Logger(t))
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { require.NoError(t, c.Run(ctx)) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return c
}

// requireCounts requires what "select count(*)" gives, after the background is done.
func requireCounts(ctx context.Context, t *testing.T, c *Counter, s *store.Store) Totals {
	t.Helper()
	var got Totals
	wait.Until(t, func() bool {
		all, err := c.Overview(ctx, headOnly{}, s, 1)
		require.NoError(t, err)
		got = all.Totals
		return got.Counts != nil
	})
	want := []status.OutcomeCount{}
	rows, err := s.Pool().Query(ctx, "select outcome, coalesce(reason, ''), count(*) from processed_event group by 1, 2 order by 1, 2")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var o status.OutcomeCount
		require.NoError(t, rows.Scan(&o.Outcome, &o.Reason, &o.Events))
		want = append(want, o)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, want, got.Counts.Outcomes)
	require.Equal(t, fixture.Number(ctx, t, s, "select count(*) from duplicate_event"), got.Counts.Duplicates)
	return got
}

func TestTotalsAreExactAfterEveryChange(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	c := counter(ctx, t)
	require.EqualValues(t, len(shop), requireCounts(ctx, t, c, s).CountedTo)
	require.EqualValues(t, len(shop), c.schema(store.LiveSchema).tally.position, "it is remembered")

	// Later messages of another partition are counted, but not remembered: earlier ones may come.
	fill(ctx, t, s, 100, 120, 10)
	require.EqualValues(t, 120, requireCounts(ctx, t, c, s).CountedTo)
	require.EqualValues(t, len(shop), c.schema(store.LiveSchema).tally.position)
	fill(ctx, t, s, 50, 60, 10)
	requireCounts(ctx, t, c, s)

	_, err := s.Pool().Exec(ctx, `update processed_event set outcome = 'ignored', reason = null where stream_seq = 7;
		update payfold.schema_state set settled_at = clock_timestamp()`)
	require.NoError(t, err)
	requireCounts(ctx, t, c, s)
}

// A new set of tables in the same schema is counted anew, however it came there.
func TestTotalsAreOfTheTablesThatHaveTheName(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	c := counter(ctx, t)
	requireCounts(ctx, t, c, s)
	for _, sql := range []string{"drop schema portal cascade", "delete from payfold.schema_state"} {
		_, err := s.Pool().Exec(ctx, sql)
		require.NoError(t, err)
	}
	require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	apply(ctx, t, s, 0, packs(3)...)
	got := requireCounts(ctx, t, c, s)
	require.Equal(t, []status.OutcomeCount{{Outcome: "applied", Events: 3}}, got.Counts.Outcomes)
}

// Each batch has one event that is applied, one that is rejected and one duplicate. So all three
// are equal at every moment.
func TestAnOverviewIsOfOneMomentWhileEventsAreApplied(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	c := counter(ctx, t)
	const batches = 100
	writing := make(chan struct{})
	var group errgroup.Group
	group.Go(func() error {
		defer close(writing)
		for i := range batches {
			id := fmt.Sprint(i)
			apply(ctx, t, s, uint64(3*i), fixture.Pack("a"+id, "p"+id, "u1", 1), fixture.Pack("a"+id, "p"+id, "u1", 1),
				`{"id":"r`+id+`","eventType":"checkout.completed","object":{"order":"o`+id+`","metadata":{"kind":"one_time"}}}`)
		}
		return nil
	})
	for range 4 {
		group.Go(func() error {
			for {
				got, err := c.Overview(ctx, headOnly{fault: errors.New("away")}, s, 2)
				if err != nil {
					return err
				}
				if len(got.Newest) > 0 && got.Newest[0].StreamSeq != got.Position || got.Partitions[0].Position != got.Position {
					return fmt.Errorf("at %d: newest %v, partitions %v", got.Position, got.Newest, got.Partitions)
				}
				sums := map[string]int64{"duplicate": got.Counts.Duplicates}
				for _, o := range got.Counts.Outcomes {
					sums[o.Outcome] = o.Events
				}
				if sums["applied"] != got.Position/3 || sums["rejected"] != got.Position/3 || sums["duplicate"] != got.Position/3 {
					return fmt.Errorf("at %d: %v", got.Position, sums)
				}
				select {
				case <-writing:
					return nil
				default:
				}
			}
		})
	}
	require.NoError(t, group.Wait())
	requireCounts(ctx, t, c, s)
}

func TestALongLogIsCountedInTheBackground(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	const first, last = 5_000_000, 5_000_000 + countChunk + 2*window
	fill(ctx, t, s, first, last, 1000)
	_, err := s.Pool().Exec(ctx, "update checkpoint set position = $1", last)
	require.NoError(t, err)
	idle := NewCounter(testenv.Logger(t))
	got, err := idle.Overview(ctx, headOnly{}, s, 1)
	require.NoError(t, err)
	require.Nil(t, got.Counts, "nothing counts in the background")
	require.Zero(t, got.CountedTo)
	rejected, err := idle.Rejected(ctx, s)
	require.NoError(t, err)
	require.Nil(t, rejected.Groups)

	c := counter(ctx, t)
	require.EqualValues(t, last, requireCounts(ctx, t, c, s).CountedTo)
	rejected, err = c.Rejected(ctx, s)
	require.NoError(t, err)
	require.Len(t, rejected.Groups, 1)
	require.EqualValues(t, (last-first)/1000+1, rejected.Groups[0].Events)
	require.EqualValues(t, first, rejected.Groups[0].Oldest.StreamSeq)
	require.Len(t, rejected.Groups[0].Newest, maxNewest)
	require.EqualValues(t, last, rejected.Groups[0].Newest[0].StreamSeq)
	require.EqualValues(t, last-1000*(maxNewest-1), rejected.Groups[0].Newest[maxNewest-1].StreamSeq)
}

func TestASessionThatSaysNothingDoesNotHoldUpTheBackground(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	c := NewCounter(testenv.Logger(t))
	for _, job := range []func(context.Context, *store.Store) error{c.countAll, c.addUp} {
		session := int(fixture.Number(ctx, t, s, "select pg_backend_pid()"))
		require.NoError(t, syscall.Kill(session, syscall.SIGSTOP))
		t.Cleanup(func() { _ = syscall.Kill(session, syscall.SIGCONT) })
		c.timeout = time.Second
		require.ErrorIs(t, job(ctx, s), context.DeadlineExceeded)
		c.timeout = wait.Timeout
		require.NoError(t, job(ctx, s), "on another session")
	}
}

func TestRejectedEventsAreGroupedWithWhatToDo(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	_, err := s.Pool().Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) values ('log-1', 7, 'no such text')")
	require.NoError(t, err)
	apply(ctx, t, s, uint64(len(shop)), `{"id":"e13","eventType":"checkout.completed","object":{"order":"o13","metadata":{"kind":"one_time"}}}`,
		`{"id":"e14","eventType":"subscription.paid","object":{"id":"s14","last_transaction_id":"t14"}}`)
	got, err := counter(ctx, t).Rejected(ctx, s)
	require.NoError(t, err)
	require.Len(t, got.Groups, 3)
	missing := got.Groups[0]
	require.Equal(t, "missing_user", missing.Reason)
	require.Equal(t, "checkout.completed", missing.Type)
	require.EqualValues(t, 2, missing.Events)
	require.Equal(t, []string{"e13", "e7"}, ids(missing.Newest))
	require.Equal(t, "e7", missing.Oldest.EventID)
	require.Contains(t, missing.Meaning, "Nothing says who bought it")
	require.Contains(t, missing.Advice, "ingest send --provider payfold FILE")
	require.EqualValues(t, 1, got.Quarantined.Count)
	require.EqualValues(t, 1, got.Waiting.Payments, "of the others no event says how many credits were sold")
}

func TestEveryReasonHasAdvice(t *testing.T) {
	t.Parallel()
	for _, reason := range projections.Reasons {
		require.NotEmpty(t, adviceByReason[reason], reason)
	}
	require.Len(t, adviceByReason, len(projections.Reasons))
}
