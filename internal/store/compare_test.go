package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// A promotion that this snapshot was too late to hold up shows it other tables
// under the same names: what differs then is no difference.
func TestASnapshotWhoseTablesAreReplacedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	_, err := s.Apply(ctx, anyMode, []events.Event{event(t, 1, pack("e1", "p1", "u1", 1))}, Advance{LogID: "log-1", From: from(0, 0), To: 1})
	require.NoError(t, err)
	next, err := s.Beside(ctx, "portal_next")
	require.NoError(t, err)
	defer next.Close()
	require.NoError(t, next.Prepare(ctx, "log-1", partitions, anyMode))
	before, err := s.Beside(ctx, PreviousSchema)
	require.NoError(t, err)
	defer before.Close()

	frozen, err := s.Snapshot(ctx)
	require.NoError(t, err)
	defer frozen.Close()
	_, err = s.pool.Exec(ctx, "alter schema portal rename to portal_prev; alter schema portal_next rename to portal")
	require.NoError(t, err)
	found := 0
	require.ErrorIs(t, frozen.Compare(ctx, before, anyMode, func(Difference) { found++ }), errMoved)
	require.NotZero(t, found, "without the error they would count")
	_, err = frozen.Sums(ctx)
	require.ErrorIs(t, err, errMoved)
}
