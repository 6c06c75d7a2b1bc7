package page

import "time"

// layouts are how people and browsers write a time.
var layouts = []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", time.RFC3339}

// ParseTime reads a date or a moment; without a zone it is read in the given one.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
