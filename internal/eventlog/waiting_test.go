package eventlog_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAPartitionHoldsAfterAPosition(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	for i := range 6 { // cust_1 is in partition 2, cust_2 in another
		store(ctx, t, l.Log, delivery(t, body(fmt.Sprintf("e%d", i+1), fmt.Sprintf("cust_%d", i%2+1))))
	}
	reader := l.Reader(t)
	for after, want := range map[uint64]struct {
		count  uint64
		oldest string
	}{0: {3, "e1"}, 1: {2, "e3"}, 2: {2, "e3"}, 4: {1, "e5"}, 5: {0, ""}, 6: {0, ""}, 99: {0, ""}} {
		waiting, err := reader.Waiting(ctx, 2, after)
		require.NoError(t, err, "after %d", after)
		require.Equal(t, want.count, waiting.Count, "after %d", after)
		require.Equal(t, want.oldest, waiting.Oldest.ID, "after %d", after)
		require.Empty(t, waiting.Oldest.Body)
	}
	waiting, err := reader.Waiting(ctx, 2, 1)
	require.NoError(t, err)
	require.EqualValues(t, 3, waiting.Oldest.Seq)
	require.Equal(t, 2026, waiting.Oldest.ReceivedAt.Year(), "when ingest had it")
	empty, err := reader.Waiting(ctx, 0, 0)
	require.NoError(t, err)
	require.Zero(t, empty)
}
