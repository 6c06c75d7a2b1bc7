package browse

import (
	"errors"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/report/page"
)

// Step is the length of the periods of a Span.
type Step string

// The steps. A week begins on Monday.
const (
	Day   Step = "day"
	Week  Step = "week"
	Month Step = "month"
)

// Steps has all steps, the shortest first.
var Steps = []Step{Day, Week, Month}

// maxPeriods bounds what a page shows.
const maxPeriods = 400

// usual is how many periods a span has for which nobody names an end.
var usual = map[Step]int{Day: 30, Week: 12, Month: 12}

// Span is a time of whole periods in the shop's time zone. To is not in it.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	By   Step      `json:"by"`

	first, end time.Time // the dates of From and To; see page.DateOf
	zone       *time.Location
}

// Period is one day, week or month. To is not in it.
type Period struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// ErrSpan means that a span has no period, or too many.
var ErrSpan = errors.New("the time cannot be shown")

// SpanOf returns the whole periods of this length that have some part of the time between from and to. Without to they
// end with the present one; without from they are the last 30 days, 12 weeks or 12 months.
func SpanOf(from, to, now time.Time, by Step, zone *time.Location) (Span, error) {
	if usual[by] == 0 {
		return Span{}, fmt.Errorf("%w: by is day, week or month", ErrSpan)
	}
	end := by.next(by.start(page.DateOf(now, zone)))
	if !to.IsZero() {
		if end = by.start(page.DateOf(to, zone)); page.StartOfDay(end, zone).Before(to) {
			end = by.next(end)
		}
	}
	first := by.start(page.DateOf(from, zone))
	if from.IsZero() {
		first = by.before(end, usual[by])
	}
	if !first.Before(end) {
		return Span{}, fmt.Errorf("%w: it ends before it begins", ErrSpan)
	}
	if by.before(end, maxPeriods).After(first) {
		return Span{}, fmt.Errorf("%w: it has more than %d periods; choose longer ones", ErrSpan, maxPeriods)
	}
	return spanOfDates(first, end, by, zone), nil
}

func spanOfDates(first, end time.Time, by Step, zone *time.Location) Span {
	return Span{page.StartOfDay(first, zone), page.StartOfDay(end, zone), by, first, end, zone}
}

// Periods lists the periods, the oldest first.
func (s Span) Periods() (all []Period) {
	from := s.From
	for date := s.first; date.Before(s.end); date = s.By.next(date) {
		to := page.StartOfDay(s.By.next(date), s.zone)
		all = append(all, Period{from, to})
		from = to
	}
	return all
}

// places returns the places of the periods by the date on which each begins.
func (s Span) places() map[time.Time]int {
	out := map[time.Time]int{}
	for date := s.first; date.Before(s.end); date = s.By.next(date) {
		out[date] = len(out)
	}
	return out
}

// start is the date on which the period of a date begins.
func (s Step) start(date time.Time) time.Time {
	switch s {
	case Month:
		return date.AddDate(0, 0, 1-date.Day())
	case Week:
		return date.AddDate(0, 0, -((int(date.Weekday()) + 6) % 7))
	}
	return date
}

func (s Step) next(from time.Time) time.Time { return s.before(from, -1) }

// before is the date on which a period begins that comes so many periods earlier than the one that begins at from.
func (s Step) before(from time.Time, periods int) time.Time {
	switch s {
	case Month:
		return from.AddDate(0, -periods, 0)
	case Week:
		return from.AddDate(0, 0, -7*periods)
	}
	return from.AddDate(0, 0, -periods)
}
