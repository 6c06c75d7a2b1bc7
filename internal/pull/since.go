package pull

import (
	"context"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/events"
)

const (
	// tried is how long most providers repeat a delivery. What is older was delivered, or is missing.
	tried = 3 * 24 * time.Hour
	// silence is the time without a delivery after which something may be missing.
	silence = time.Hour
	// lookBack is how far back silences are looked for, if the provider keeps events until they are acknowledged.
	lookBack = 30 * 24 * time.Hour
)

// firstSince returns since when events of a provider may be missing in the log: at least for the last three days, and
// since the first silence of the time for which the provider keeps events. A silence is more than an hour without a
// delivery of the provider, and the time before its first one. So a provider that has delivered nothing is asked for
// everything that it keeps, and a pull that a kill has cut short in the middle of a long outage begins there again.
func firstSince(ctx context.Context, log eventLog, provider string, kept time.Duration, now time.Time) (time.Time, error) {
	info, err := infoOf(ctx, log)
	if err != nil {
		return time.Time{}, err
	}
	begin := now.Add(-kept)
	if info.Last < info.First {
		return begin, nil
	}
	stored, err := log.StoredBy(ctx, info, begin)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", errNotRead, err)
	}
	from := max(stored+1, lessThan(info.Last, maxKnown))
	if from > info.Last { // nothing was stored for so long
		return begin, nil
	}
	var d deliveries
	if from == 1 || stored >= info.First && from == stored+1 { // what is read has all deliveries since begin
		d.last = begin
	}
	err = log.ReadUntil(ctx, from, info.Last, func(m events.Message) error {
		if m.Provider == provider && m.Source != events.SourcePulled {
			d.any = true
			d.add(m.StoredAt)
		}
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", errNotRead, err)
	}
	if !d.any {
		return begin, nil
	}
	d.add(now)
	since := now.Add(-tried)
	if !d.silent.IsZero() && d.silent.Add(-overlap).Before(since) {
		since = d.silent.Add(-overlap)
	}
	if since.Before(begin) {
		return begin, nil
	}
	return since, nil
}

// deliveries is what a part of the log has of a provider.
type deliveries struct {
	any    bool
	last   time.Time // when the newest delivery was stored; zero if there is none yet
	silent time.Time // when the first silence began; zero if there is none
}

// add records that a delivery was stored, or that the log ends.
func (d *deliveries) add(at time.Time) {
	if d.silent.IsZero() && !d.last.IsZero() && at.Sub(d.last) > silence {
		d.silent = d.last
	}
	d.last = at
}
