package browse

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/world"
	"github.com/payfold/payfold/internal/verify"
)

func TestTotalsAreExactThroughAPromotionUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Project(ctx, t, 200)
	tables := w.Open(ctx, t, store.LiveSchema)
	requireCounts(ctx, t, tables)
	var reading errgroup.Group
	done := make(chan struct{})
	reading.Go(func() error {
		for {
			got, err := figuresOf(ctx, tables, time.Now())
			if err != nil {
				return err
			}
			if messages := got.Counts.Total() + got.Counts.Duplicates; messages < got.Position {
				return fmt.Errorf("%d messages at %d", messages, got.Position)
			}
			select {
			case <-done:
				return nil
			default:
			}
		}
	})
	w.Log.Deliver(t, packs(100)...)
	promotion := promote.Promotion{Rebuild: w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0), Live: w.Open(ctx, t, store.LiveSchema)}
	require.NoError(t, promotion.Run(ctx))
	w.WaitApplied(ctx, t)
	close(done)
	require.NoError(t, reading.Wait())
	got := requireCounts(ctx, t, tables)
	require.EqualValues(t, w.Head(ctx, t), got.Counts.Total()+got.Counts.Duplicates)
}

// Two users name one payment, and the later event was applied first.
func TestRejectedEventsAreThoseThatSettleLeaves(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	claim := func(id, user string, at int) string {
		return fmt.Sprintf(`{"created_at":%[3]d,"id":%[1]q,"eventType":"checkout.completed","object":{"provider_payment_id":"t1","customer":"c_%[2]s",
			"metadata":{"kind":"one_time","user_id":%[2]q,"credits":1}}}`, id, user, at)
	}
	w.Log.Deliver(t, claim("first", "u1", 1767348060000), claim("second", "u2", 1767348000000))
	log, tables := w.Log.Reader(t), w.Open(ctx, t, store.LiveSchema)
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, tables.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode))
	head, err := log.Message(ctx, 2)
	require.NoError(t, err)
	apply := func(from map[int]uint64, batch ...events.Event) {
		_, err := live.Apply(ctx, tables, fixture.AnyMode, batch, store.Advance{LogID: info.LogID, From: from, To: 2, Digest: head.Digest()})
		require.NoError(t, err)
	}
	others := map[int]uint64{}
	for partition := range info.Partitions {
		others[partition] = 0
	}
	for _, seq := range []uint64{2, 1} {
		message, err := log.Message(ctx, seq)
		require.NoError(t, err)
		apply(fixture.From(message.Partition, 0), providers.Decode(message))
		delete(others, message.Partition)
	}
	apply(others)
	measures := running(ctx, t)
	rejected := func() []string {
		got, err := measures.Rejected(ctx, tables)
		require.NoError(t, err)
		if len(got.Groups) == 0 {
			return nil
		}
		return ids(got.Groups[0].Newest)
	}
	require.Equal(t, []string{"first"}, rejected())
	settled, err := (&verify.Settle{Log: log, Tables: tables, Rules: fixture.AnyMode}).Run(ctx)
	require.NoError(t, err)
	require.Positive(t, settled.OutOfOrder)
	require.Empty(t, rejected(), "by the provider's time the second event is the older one, so it decides whose payment it is")
}
