package browse

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// requireCounts requires what "select count(*)" gives.
func requireCounts(ctx context.Context, t *testing.T, s *store.Store) Totals {
	t.Helper()
	all, err := figuresOf(ctx, s, time.Now())
	require.NoError(t, err)
	got := all.Totals
	require.True(t, got.Complete)
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
	require.EqualValues(t, len(shop)-1, requireCounts(ctx, t, s).Counts.Total())
	fill(ctx, t, s, 100, 120, 10)
	fill(ctx, t, s, 50, 60, 10)
	requireCounts(ctx, t, s)
	_, err := s.Pool().Exec(ctx, "update processed_event set outcome = 'ignored', reason = null where stream_seq = 7")
	require.NoError(t, err)
	requireCounts(ctx, t, s)
}

// Each batch has one event that is applied, one that is rejected and one duplicate. So all three
// are equal at every moment.
func TestAnOverviewIsOfOneMomentWhileEventsAreApplied(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
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
				got, err := Overview(ctx, headOnly{fault: errors.New("away")}, s, 2)
				if err != nil {
					return err
				}
				if len(got.Newest) > 0 && got.Newest[0].StreamSeq != got.Position || got.Partitions[0].Position != got.Position {
					return fmt.Errorf("at %d: newest %v, partitions %v", got.Position, got.Newest, got.Partitions)
				}
				figures, err := figuresOf(ctx, s, time.Now())
				if err != nil {
					return err
				}
				sums, each := map[string]int64{"duplicate": figures.Counts.Duplicates}, figures.Position/3
				for _, o := range figures.Counts.Outcomes {
					sums[o.Outcome] = o.Events
				}
				if sums["applied"] != each || sums["rejected"] != each || sums["duplicate"] != each {
					return fmt.Errorf("at %d: %v", figures.Position, sums)
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
	requireCounts(ctx, t, s)
}

func TestTotalsOfALongLogAreOfItsNewestEvents(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	const first, last, limit = 5_000_000, 5_001_000, 500
	fill(ctx, t, s, first, last, 100)
	err := s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		got, err := totals(ctx, tx, Moment{}, limit)
		require.NoError(t, err)
		require.False(t, got.Complete)
		require.EqualValues(t, limit, got.Counts.Total())
		rejected := status.OutcomeCount{Outcome: "rejected", Reason: "missing_user", Events: 5}
		require.Equal(t, rejected, got.Counts.Outcomes[len(got.Counts.Outcomes)-1])
		require.Zero(t, got.Counts.Duplicates, "the duplicate is older")
		groups, complete, err := rejectedGroups(ctx, tx, 7)
		require.NoError(t, err)
		require.False(t, complete)
		require.Len(t, groups, 1)
		require.EqualValues(t, 7, groups[0].Events)
		require.EqualValues(t, last-600, groups[0].Oldest.StreamSeq)
		require.Len(t, groups[0].Newest, maxNewest)
		require.EqualValues(t, last, groups[0].Newest[0].StreamSeq)
		require.EqualValues(t, last-100*(maxNewest-1), groups[0].Newest[maxNewest-1].StreamSeq)
		return nil
	})
	require.NoError(t, err)
}

func TestRejectedEventsAreGroupedWithWhatToDo(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	_, err := s.Pool().Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) values ('log-1', 7, 'no such text')")
	require.NoError(t, err)
	apply(ctx, t, s, uint64(len(shop)), `{"id":"e13","eventType":"checkout.completed","object":{"order":"o13","metadata":{"kind":"one_time"}}}`,
		`{"id":"e14","eventType":"subscription.paid","object":{"id":"s14","last_transaction_id":"t14"}}`)
	got, err := running(ctx, t).Rejected(ctx, s)
	require.NoError(t, err)
	require.True(t, got.Complete)
	require.Len(t, got.Groups, 3)
	missing := got.Groups[0]
	require.Equal(t, "missing_user", missing.Reason)
	require.Equal(t, "checkout.completed", missing.Type)
	require.EqualValues(t, 2, missing.Events)
	require.Equal(t, []string{"e13", "e7"}, ids(missing.Newest))
	require.Equal(t, "e7", missing.Oldest.EventID)
	require.Contains(t, missing.Meaning, "Nothing says who bought it")
	require.Contains(t, missing.Advice, "ingest complete PAYMENT --user USER --product PRODUCT --reason 'WHY'")
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
