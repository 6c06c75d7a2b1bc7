package explain

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAnEventIsFoundByTheIDOfTheProviderAndOfTheTables(t *testing.T) {
	t.Parallel()
	bodies := fixture.Month()
	ctx, shop := fixture.NewFolded(t, len(bodies), bodies...)
	stored := events.PossibleIDs("evil \x1b[31m")[0]
	for _, id := range []string{"evil \x1b[31m", stored, "evt_pack"} {
		_, err := ReadEvent(ctx, shop.Log, shop.Tables, id, unbounded)
		require.NoError(t, err, id)
	}
	require.Len(t, events.PossibleIDs("sha256:00"), 1, "not an id as the tables have it")
}

func TestDuplicatesAreComparedWithTheRightLogOnly(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 6, fixture.Month()[:6]...)
	rows, err := viewEvent(ctx, shop.Tables, withID, []string{"evt_pack"}, unbounded)
	require.NoError(t, err)
	rows.LogID = "another"
	var text bytes.Buffer
	rows.compare(ctx, shop.Log)
	require.NoError(t, rows.Write(&text, false))
	require.Contains(t, text.String(), "it arrived 2 more times")
	require.Contains(t, text.String(), identity.ErrLogLost.Error())
	require.NotContains(t, text.String(), "DIFFERENT")
}

func TestAnEventSaysWhetherItWasOutOfOrderOrQuarantined(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 0)
	shop.Apply(ctx, t, fixture.Messages(7, fixture.Pack("e7", "p1", "u1", 5)), 1)
	shop.Apply(ctx, t, fixture.Messages(1, fixture.Pack("e1", "p1", "u1", 5), fixture.Pack("e1", "p1", "u1", 5), fixture.Pack("e3", "p3", "u2", 1)), 0)
	_, err := shop.Tables.Pool().Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) values ($1, 3, $2)", shop.LogID, "no such text")
	require.NoError(t, err)
	for id, in := range map[string]int{"e1": 1, "e7": 1, "e3": 0} {
		rows, err := ReadEvent(ctx, shop.Log, shop.Tables, id, 10)
		require.NoError(t, err)
		require.Len(t, rows.OutOfOrder, in, "%s, the earlier or the later event", id)
		require.Equal(t, id == "e3", rows.Quarantined != nil)
	}
}
