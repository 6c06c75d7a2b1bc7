package archive

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

// The archiver pauses after each frame, so that deliveries have the cores. It takes about a tenth
// of one core, which is enough for some thousand deliveries a second. Once the oldest message has
// waited for pacedIntervals, it does not pause any more.
const (
	pauseShare     = 9 // times as long as the work before the pause
	maxPause       = 100 * time.Millisecond
	pacedIntervals = 3
)

// hurries reports whether the archiver is too far behind for pauses.
func (a *Archiver) hurries() bool {
	return !a.waiting.IsZero() && time.Since(a.waiting) > pacedIntervals*a.Interval
}

// pauses returns a function that pauses, unless hurries returns true. The function fails when ctx
// ends.
func pauses(ctx context.Context, hurries func() bool) func() error {
	worked := time.Now()
	return func() error {
		if hurries() {
			return ctx.Err()
		}
		err := backoff.Every(min(pauseShare*time.Since(worked), maxPause)).Wait(ctx)
		worked = time.Now()
		return err
	}
}

// pacer pauses now and then, so that deliveries have the cores.
type pacer struct {
	records int
	pause   func() error
}

const pacedRecords = 4096

func (p *pacer) passed() error {
	if p.records++; p.records%pacedRecords != 0 {
		return nil
	}
	return p.pause()
}

type pacedSource struct {
	Source
	pace *pacer
}

// ReadRecords implements Source.
func (s pacedSource) ReadRecords(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return s.Source.ReadRecords(ctx, from, until, func(r Record) error {
		if err := s.pace.passed(); err != nil {
			return err
		}
		return deliver(r)
	})
}
