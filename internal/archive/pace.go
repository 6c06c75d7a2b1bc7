package archive

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

// Archiver and Trimmer pause after some work, so that deliveries have the cores. They take about a tenth of one
// core, which is enough for some thousand deliveries a second. Once the oldest message has waited for pacedIntervals,
// the archiver does not pause any more.
const (
	workTime       = 5 * time.Millisecond // before a pause, at least
	pauseShare     = 9                    // times as long as the work before the pause
	maxPause       = 100 * time.Millisecond
	pacedIntervals = 3
)

// hurries reports whether the archiver is too far behind for pauses.
func (a *Archiver) hurries() bool {
	return !a.waiting.IsZero() && time.Since(a.waiting) > pacedIntervals*a.Interval
}

// pauses returns a function that pauses after some work, unless hurries returns true. The function fails when ctx ends.
func pauses(ctx context.Context, hurries func() bool) func() error {
	worked := time.Now()
	return func() error {
		work := time.Since(worked)
		if work < workTime || hurries() {
			return ctx.Err()
		}
		err := backoff.Every(min(pauseShare*work, maxPause)).Wait(ctx)
		worked = time.Now()
		return err
	}
}

// pacedSource calls pause before each record.
type pacedSource struct {
	Source
	pause func() error
}

// ReadRecords implements Source.
func (s pacedSource) ReadRecords(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return s.Source.ReadRecords(ctx, from, until, func(r Record) error {
		if err := s.pause(); err != nil {
			return err
		}
		return deliver(r)
	})
}
