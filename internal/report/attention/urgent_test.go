package attention_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/report/attention"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/webhook"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

func ingest(state logreport.Ingest, err error) func(context.Context) (logreport.Ingest, error) {
	return func(context.Context) (logreport.Ingest, error) { return state, err }
}

func TestWhatStopsMoneyIsUrgent(t *testing.T) {
	t.Parallel()
	bodies := fixture.Month()
	ctx, shop := fixture.NewFolded(t, len(bodies)-1, bodies...)
	urgent := func(ask func(context.Context) (logreport.Ingest, error)) []string {
		said, err := attention.Urgent(ctx, shop.Log.Reader(t), shop.Tables, ask)
		require.NoError(t, err)
		return said
	}
	said := urgent(nil)
	require.Len(t, said, 1)
	require.Contains(t, said[0], attention.NoProjector+" 1 event is not applied yet, the oldest arrived ")

	_, err := live.Members{Store: shop.Tables}.Heartbeat(ctx)
	require.NoError(t, err)
	_, err = live.Members{Store: shop.Tables}.TakeLeases(ctx, []int{0})
	require.NoError(t, err)
	_, err = shop.Tables.Pool().Exec(ctx, "update checkpoint set position = $1", len(bodies)) // nobody applies the last event here
	require.NoError(t, err)
	refusals := logreport.Ingest{
		Answers: []webhook.Minute{{Answers: map[string]uint64{"unauthorized": 9}}},
		GivesUp: map[string]float64{"shop": 3 * 3600}, RefusesSignatures: map[string]float64{"shop": 1800},
	}
	require.Empty(t, urgent(ingest(refusals, nil)), "this can wait until the next morning")
	_, err = shop.Tables.Pool().Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, 3, 'no' from payfold.schema_state")
	require.NoError(t, err)
	refusals.GivesUp["shop"], refusals.RefusesSignatures["shop"], refusals.NotReady = 3600, 1860, "the disk is full"
	refusals.Damage = []string{"server nats-2: seq 8: the log skips from seq 7 to 9", "more"}
	refusals.Archive = &archive.State{LastError: "the store does not answer"}
	require.Equal(t, []string{
		"Ingest stores nothing now: the disk is full.",
		"No signature of shop was valid for 31 min, so none of its deliveries is stored. shop stops trying in 60 min.",
		"The database refused the rows of 1 event. Their customers got nothing.",
		"A disk of the log is damaged: server nats-2: seq 8: the log skips from seq 7 to 9.",
		"The archive lacks a part of the log: the store does not answer.",
	}, urgent(ingest(refusals, nil)))
	require.Contains(t, urgent(ingest(logreport.Ingest{}, errors.New("nothing answers")))[0], "Ingest does not answer")
}
