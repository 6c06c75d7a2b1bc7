package console

import (
	"fmt"
	"html/template"
	"time"

	"github.com/payfold/payfold/internal/report/page"
)

// clock writes times as people of the shop read them.
type clock struct {
	zone *time.Location
	now  func() time.Time
}

// at is a moment in the shop's time zone, and how long ago it is; the zero time is nothing.
func (c clock) at(t time.Time) template.HTML {
	if t.IsZero() {
		return noValue
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time> <span class="ago quiet">%s</span>`, //nolint:gosec // no text from outside
		t.UTC().Format(time.RFC3339), c.exact(t), relative(c.now().Sub(t))))
}

// exact is a moment to the second, such as "2026-11-28 11:36:28Z" and "2026-11-28 12:36:28 CET".
func (c clock) exact(t time.Time) string {
	if c.zone == time.UTC {
		return t.UTC().Format("2006-01-02 15:04:05Z")
	}
	return t.In(c.zone).Format("2006-01-02 15:04:05 MST")
}

// daysAgo is the date of some days ago, as a filter reads it.
func (c clock) daysAgo(days int) string {
	return c.now().In(c.zone).AddDate(0, 0, -days).Format(time.DateOnly)
}

// monthBegin is the first date of the present month.
func (c clock) monthBegin() string {
	now := c.now().In(c.zone)
	return now.AddDate(0, 0, 1-now.Day()).Format(time.DateOnly)
}

// relative says how long before or after now a moment is, roughly. Clocks differ, so the next seconds are now.
func relative(age time.Duration) string {
	switch {
	case age < -time.Minute:
		return "in " + page.Duration(-age)
	case age < time.Second:
		return "now"
	}
	return page.Duration(age) + " ago"
}
