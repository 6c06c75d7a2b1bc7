package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// A projector may still have messages of the lost log in hand.
func TestABatchOfTheLostLogIsNotAppliedToTheNewOne(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	everywhere := func(position uint64) map[int]uint64 {
		all := map[int]uint64{}
		for partition := range partitions {
			all[partition] = position
		}
		return all
	}
	_, err := s.Apply(ctx, anyMode, []events.Event{event(t, 5, pack("e5", "p5", "u1", 10))}, Advance{LogID: "log-1", From: everywhere(0), To: 5})
	require.NoError(t, err)
	bulk, err := s.NewBulk(ctx, anyMode, 6, nil)
	require.NoError(t, err)
	defer bulk.Close()
	_, err = s.AdoptLog(ctx, "log-2", 6, partitions)
	require.NoError(t, err)
	late := []events.Event{event(t, 6, pack("late", "late", "u1", 7))}
	_, err = s.Apply(ctx, anyMode, late, Advance{LogID: "log-1", From: everywhere(5), To: 6})
	require.ErrorIs(t, err, ErrFenced)
	require.ErrorIs(t, bulk.Fold(ctx, late), ErrFenced)
	_, err = s.Apply(ctx, anyMode, []events.Event{event(t, 6, pack("e6", "p6", "u1", 1))}, Advance{LogID: "log-2", From: everywhere(5), To: 6})
	require.NoError(t, err)
	require.EqualValues(t, 11, number(ctx, t, s, "select balance from credits"))
}
