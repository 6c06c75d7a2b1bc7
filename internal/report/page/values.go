package page

import (
	"fmt"
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

// Count is a number of things, such as "1 event" and "2 events".
func Count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Clause is Count with a verb: Clause(1, "row", "differs", "differ") is "1 row differs".
func Clause[N int | int64 | uint64](n N, thing, ofOne, ofMany string) string {
	if n == 1 {
		return Count(n, thing) + " " + ofOne
	}
	return Count(n, thing) + " " + ofMany
}
