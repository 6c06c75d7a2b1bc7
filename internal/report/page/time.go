package page

import (
	"sort"
	"time"
)

// layouts are how people and browsers write a time.
var layouts = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", time.RFC3339}

// ParseTime reads a date or a moment; without a zone it is read in the given one.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return StartOfDay(date, zone).UTC(), true
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// DateOf is the date of a moment in a zone, as midnight UTC.
func DateOf(moment time.Time, zone *time.Location) time.Time {
	year, month, day := moment.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// StartOfDay is the first moment of a date in a zone. The date is midnight UTC. Some zones change their clocks at
// midnight, so that a day begins at one o'clock, or is left out: then it begins with the next one.
func StartOfDay(date time.Time, zone *time.Location) time.Time {
	const furthest = 26 * time.Hour // between UTC and any zone
	earliest := date.Add(-furthest)
	seconds := sort.Search(int(2*furthest/time.Second), func(n int) bool {
		return !DateOf(earliest.Add(time.Duration(n)*time.Second), zone).Before(date)
	})
	return earliest.Add(time.Duration(seconds) * time.Second).In(zone)
}
