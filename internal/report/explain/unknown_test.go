package explain

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAMessageThatIsNotAppliedIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 2, fixture.Month()[:3]...)
	info, err := shop.Log.Info(ctx)
	require.NoError(t, err)
	_, err = readMessage(ctx, shop.Tables, 3, unbounded)
	require.ErrorIs(t, err, store.ErrUnknown)
	pending, err := findPending(ctx, shop.Log, info.LogID, 3)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, pending.Write(&text, false))
	requireGolden(t, "pending.txt", text.Bytes())
	_, err = findPending(ctx, shop.Log, info.LogID, 99)
	require.Equal(t, UnknownError{"the log has no message at seq 99: it ends at seq 3"}, err)
	_, err = findPending(ctx, shop.Log, "another", 3)
	require.ErrorIs(t, err, identity.ErrLogLost)
	require.NotErrorIs(t, err, store.ErrUnknown)
	require.Contains(t, unknownEvent(ctx, shop.Log, "e\x1b"), "no event sha256:")
	require.Contains(t, unknownEvent(ctx, shop.Log, "evt_x"), "no event evt_x is in the tables; the log ends at seq 3")
}
