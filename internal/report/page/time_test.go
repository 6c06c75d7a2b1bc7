package page

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestADayBeginsWithItsFirstMoment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, date, begins string }{
		{"UTC", "2026-03-29", "2026-03-29T00:00:00Z"},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z"},
		{"Asia/Kathmandu", "2026-03-29", "2026-03-28T18:15:00Z"},
		{"Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00Z"},        // its clocks go from 0 to 1 o'clock
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z"},     // its clocks go from 1 back to 0 o'clock
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"},  // from 0 to 1 o'clock
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z"},       // left out
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"},       // begins at the same moment
		{"Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00Z"}, // 14 hours before UTC
	} {
		zone, err := time.LoadLocation(c.zone)
		require.NoError(t, err)
		date, err := time.Parse(time.DateOnly, c.date)
		require.NoError(t, err)
		require.Equal(t, c.begins, StartOfDay(date, zone).UTC().Format(time.RFC3339), "%s in %s", c.date, c.zone)
		typed, ok := ParseTime(c.date, zone)
		require.True(t, ok)
		require.Equal(t, c.begins, typed.Format(time.RFC3339))
	}
}

func TestEveryMomentIsInTheDayOfItsDate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "Africa/Cairo", "Asia/Beirut", "America/Havana", "Pacific/Apia"} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		for moment := time.Date(2009, 1, 1, 0, 0, 0, 0, time.UTC); moment.Year() < 2027; moment = moment.Add(7*time.Hour + 13*time.Minute) {
			date := DateOf(moment, zone)
			require.False(t, StartOfDay(date, zone).After(moment), "%s %s", name, moment)
			require.True(t, StartOfDay(date.AddDate(0, 0, 1), zone).After(moment), "%s %s", name, moment)
		}
	}
}
