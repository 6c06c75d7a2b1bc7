package explain

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAMessageThatIsNotAppliedIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 2, fixture.Month()[:3]...)
	pending, err := ReadMessage(ctx, shop.Log, shop.Tables, 3, unbounded)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, pending.Write(&text, false))
	requireGolden(t, "pending.txt", text.Bytes())
	_, err = ReadMessage(ctx, shop.Log, shop.Tables, 99, unbounded)
	require.Equal(t, UnknownError{"the log has no message at seq 99: it ends at seq 3"}, err)
	_, err = ReadEvent(ctx, shop.Log, shop.Tables, "e\x1b", unbounded)
	require.ErrorContains(t, err, "no event sha256:")
	_, err = ReadEvent(ctx, shop.Log, shop.Tables, "evt_x", unbounded)
	require.ErrorContains(t, err, "no event evt_x is in the tables; the log ends at seq 3")
	require.ErrorAs(t, err, new(UnknownError))
	for id, question := range map[string]string{
		"tx_1": "it is a payment; its newest event: projector explain evt_active", "ord_1": "projector explain evt_active",
		"u_anna": "it is a user: projector explain --user u_anna",
	} {
		_, err = ReadEvent(ctx, shop.Log, shop.Tables, id, unbounded)
		require.ErrorAs(t, err, new(UnknownError))
		require.ErrorContains(t, err, "no event "+id+" is in the tables; ")
		require.ErrorContains(t, err, question)
	}
	_, err = shop.Tables.Pool().Exec(ctx, "update payfold.schema_state set log_id = 'another'")
	require.NoError(t, err)
	_, err = ReadMessage(ctx, shop.Log, shop.Tables, 3, unbounded)
	require.ErrorIs(t, err, identity.ErrLogLost)
}
