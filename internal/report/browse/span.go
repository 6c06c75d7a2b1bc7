package browse

import (
	"errors"
	"fmt"
	"time"
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

// Span is a time of whole periods, in UTC. To is not in it.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	By   Step      `json:"by"`
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
func SpanOf(from, to, now time.Time, by Step) (Span, error) {
	if usual[by] == 0 {
		return Span{}, fmt.Errorf("%w: by is day, week or month", ErrSpan)
	}
	out := Span{By: by, To: by.next(by.start(now))}
	if !to.IsZero() {
		if out.To = by.start(to); out.To.Before(to) {
			out.To = by.next(out.To)
		}
	}
	if out.From = by.start(from); from.IsZero() {
		out.From = by.before(out.To, usual[by])
	}
	if !out.From.Before(out.To) {
		return Span{}, fmt.Errorf("%w: it ends before it begins", ErrSpan)
	}
	if by.before(out.To, maxPeriods).After(out.From) {
		return Span{}, fmt.Errorf("%w: it has more than %d periods; choose longer ones", ErrSpan, maxPeriods)
	}
	return out, nil
}

// Periods lists the periods, the oldest first.
func (s Span) Periods() (all []Period) {
	for from := s.From; from.Before(s.To); {
		to := s.By.next(from)
		all = append(all, Period{from, to})
		from = to
	}
	return all
}

// start is the beginning of the period in which a time is.
func (s Step) start(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	switch s {
	case Month:
		day = 1
	case Week:
		day -= (int(t.UTC().Weekday()) + 6) % 7
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func (s Step) next(from time.Time) time.Time { return s.before(from, -1) }

// before is the beginning of the period that comes so many periods earlier than the one that begins at from.
func (s Step) before(from time.Time, periods int) time.Time {
	switch s {
	case Month:
		return from.AddDate(0, -periods, 0)
	case Week:
		return from.AddDate(0, 0, -7*periods)
	}
	return from.AddDate(0, 0, -periods)
}
