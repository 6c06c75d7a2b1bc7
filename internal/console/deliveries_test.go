package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/webhook"
)

func TestDeliveriesAreThoseOfTheLastQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	minute := func(ago int, answers map[string]uint64) webhook.Minute {
		return webhook.Minute{Begin: noon.Add(-time.Duration(ago) * time.Minute), Answers: answers}
	}
	got := deliveriesOf(&logreport.Ingest{At: noon.Add(59 * time.Second), Answers: []webhook.Minute{
		minute(15, map[string]uint64{"accepted": 100}),
		minute(14, map[string]uint64{"accepted": 3, "duplicate": 1, "too_many": 2}),
		minute(0, map[string]uint64{"accepted": 4}),
		minute(-1, map[string]uint64{"accepted": 100}), // of a clock that was set back
	}}, time.FixedZone("shop", 3600))
	require.Equal(t, "7 accepted, 2 too many, 1 duplicate", got.Said)
	require.Len(t, got.Minutes, 15)
	require.Equal(t, deliveryMinute{noon.Add(-14 * time.Minute), 4, 2}, got.Minutes[0])
	require.Equal(t, deliveryMinute{noon, 4, 0}, got.Minutes[14])
	require.NoError(t, got.Drawing.Fault)
	require.Contains(t, got.Drawing.SVG, "12:46, refused: -2")
}

func TestNothingIsSaidOfDeliveriesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	require.Nil(t, deliveriesOf(nil, time.UTC))
	require.Empty(t, deliveriesOf(&logreport.Ingest{At: noon}, time.UTC).Said, "none came")
}
