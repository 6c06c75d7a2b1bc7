package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/webhook"
)

func TestDeliveriesAreThoseOfTheLastHour(t *testing.T) {
	t.Parallel()
	minute := func(ago int, answers map[string]uint64) webhook.Minute {
		return webhook.Minute{Begin: noon.Add(-time.Duration(ago) * time.Minute), Answers: answers}
	}
	got := deliveriesOf(&logreport.Ingest{At: noon.Add(59 * time.Second), Answers: []webhook.Minute{
		minute(60, map[string]uint64{"accepted": 100}),
		minute(59, map[string]uint64{"accepted": 3, "duplicate": 1, "too_many": 2}),
		minute(0, map[string]uint64{"accepted": 4}),
		minute(-1, map[string]uint64{"accepted": 100}), // of a clock that was set back
	}}, time.FixedZone("shop", 3600))
	require.Equal(t, "7 accepted, 2 too many, 1 duplicate", got.Said)
	require.Equal(t, []string{"accepted", "too many", "duplicate"}, got.Answers)
	require.Len(t, got.Minutes, 60)
	require.Equal(t, deliveryMinute{noon.Add(-59 * time.Minute), 4, 2, []uint64{3, 2, 1}}, got.Minutes[0])
	require.Equal(t, deliveryMinute{noon, 4, 0, []uint64{4, 0, 0}}, got.Minutes[59])
	require.NoError(t, got.Drawing.Fault)
	require.Contains(t, got.Drawing.SVG, "12:01, refused: 2")
}

func TestNothingIsSaidOfDeliveriesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	require.Nil(t, deliveriesOf(nil, time.UTC))
	require.Empty(t, deliveriesOf(&logreport.Ingest{At: noon}, time.UTC).Said, "none came")
}

func TestTheLagOfTheLastHourHasGapsWhereItIsNotKnown(t *testing.T) {
	t.Parallel()
	measured := []lag.Minute{
		{Begin: noon.Add(-59 * time.Minute), Events: 3, Seconds: 1.25},
		{Begin: noon.Add(-2 * time.Minute), Events: 900, Seconds: 75},
		{Begin: noon.Add(-time.Minute)},
	}
	got := lagOf(func() []lag.Minute { return measured }, noon.Add(59*time.Second), time.FixedZone("shop", 3600))
	require.Equal(t, 75.0, got.Longest)
	require.NoError(t, got.Drawing.Fault)
	for _, said := range []string{"12:01, longest wait, in seconds: 1.25", "12:58, longest wait, in seconds: 75", "12:59, longest wait, in seconds: 0"} {
		require.Contains(t, got.Drawing.SVG, said)
	}
	require.NotContains(t, got.Drawing.SVG, "13:00, longest", "nothing was measured in the present minute yet")
	require.Nil(t, lagOf(nil, noon, time.UTC))
}
