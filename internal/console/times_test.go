package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATimeIsThatOfTheShopWithItsAge(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 11, 28, 23, 30, 0, 0, time.UTC)
	of := func(zone *time.Location) clock { return clock{zone, func() time.Time { return now }} }
	require.EqualValues(t, `<time datetime="2026-11-28T20:30:00Z">2026-11-28 21:30:00 CET</time> <span class="ago quiet">3 h ago</span>`,
		of(berlin).at(now.Add(-3*time.Hour)))
	require.EqualValues(t, `<time datetime="2026-11-30T23:30:00Z">2026-11-30 23:30:00Z</time> <span class="ago quiet">in 2 days</span>`,
		of(time.UTC).at(now.Add(48*time.Hour)))
	require.EqualValues(t, noValue, of(berlin).at(time.Time{}))
	require.Equal(t, []string{"2026-11-29", "2026-11-28", "2026-11-01"}, []string{of(berlin).daysAgo(0), of(berlin).daysAgo(1), of(berlin).monthBegin()})
	require.Equal(t, "2026-11-28", of(time.UTC).daysAgo(0))
	require.Equal(t, "now", relative(-time.Second))
	require.Equal(t, []string{"now", "3 h ago", noValue}, []string{ago(now, now.Add(-time.Millisecond)), ago(now, now.Add(-3*time.Hour)), ago(now, time.Time{})})
}

func TestATimeOfAnAddressIsThatOfTheShop(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"2026-07-01": "2026-06-30T22:00:00Z", "2026-12-01T12:00": "2026-12-01T11:00:00Z", "2026-12-01T12:00:00Z": "2026-12-01T12:00:00Z",
	} {
		got, err := query{Values: map[string][]string{"from": {text}}, zone: berlin}.time("from")
		require.NoError(t, err)
		require.Equal(t, want, got.Format(time.RFC3339))
	}
}
