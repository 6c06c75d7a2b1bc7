// Package minutes keeps a value for each minute of the last hour, for somebody who looks at a problem now. Metrics have
// the history.
package minutes

import (
	"slices"
	"time"
)

// Kept is how many minutes a Ring keeps.
const Kept = 60

// Minute is the value of one minute, which begins at a whole minute in UTC.
type Minute[T any] struct {
	Begin time.Time
	Value T
}

// Ring keeps values of at most Kept minutes. The zero Ring has none. It is not safe for concurrent use.
type Ring[T any] struct {
	minutes [Kept]Minute[T] // by the minutes since 1970; a slot may have an older minute
}

// At returns the value of the minute that has this moment, for the caller to change: the zero value if it has none yet.
// A moment takes the place of those that are Kept minutes, or a multiple of it, away.
func (r *Ring[T]) At(moment time.Time) *T {
	begin := Begin(moment)
	slot := &r.minutes[begin.Unix()/60%Kept]
	if !slot.Begin.Equal(begin) {
		*slot = Minute[T]{Begin: begin}
	}
	return &slot.Value
}

// Last returns the minutes that have a value, up to the one of now and at most Kept, in order.
func (r *Ring[T]) Last(now time.Time) []Minute[T] {
	first, last := Begin(now).Add(-(Kept-1)*time.Minute), Begin(now)
	var out []Minute[T]
	for _, minute := range r.minutes {
		if !minute.Begin.Before(first) && !minute.Begin.After(last) {
			out = append(out, minute)
		}
	}
	slices.SortFunc(out, func(a, b Minute[T]) int { return a.Begin.Compare(b.Begin) })
	return out
}

// Begin is the beginning of the minute that has this moment.
func Begin(moment time.Time) time.Time { return moment.UTC().Truncate(time.Minute) }
