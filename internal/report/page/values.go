package page

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Name formats an id or key from outside. It quotes text that could be misread. An empty text is "-".
func Name(text string) string {
	if text == "" {
		return "-"
	}
	if Clean(text) != text || text == "-" || strings.ContainsAny(text, " \"\\,") {
		return strconv.Quote(text)
	}
	return text
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Word formats a text as one word of a command, in single quotes if a shell would not take it as it is.
func Word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Words is a status, an outcome or a reason for people: "past due".
func Words(name string) string { return strings.ReplaceAll(Clean(name), "_", " ") }

// Time formats a time to the second, in UTC. The zero time is empty.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// Seconds formats a duration to a tenth of a second, such as "1m2.3s". Clocks differ, so a negative one is "0s".
func Seconds(seconds float64) string {
	return time.Duration(max(seconds, 0) * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// Duration is a time in the largest unit that is at least 1.
func Duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Count is a number of things, such as "1 event", "2,000 events" and "3 deliveries".
func Count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if before, y := strings.CutSuffix(thing, "ry"); y {
		return Grouped(int64(n)) + " " + before + "ries"
	}
	return Grouped(int64(n)) + " " + thing + "s"
}

// Clause is Count with a verb: Clause(1, "row", "differs", "differ") is "1 row differs".
func Clause[N int | int64 | uint64](n N, thing, ofOne, ofMany string) string {
	if n == 1 {
		return Count(n, thing) + " " + ofOne
	}
	return Count(n, thing) + " " + ofMany
}

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
