package pull

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
)

// known are the ids of the events that the log has stored since a time. The server of the log remembers the ids of its
// duplicate window only.
type known struct {
	log   eventLog
	since time.Time
	ids   map[[2]uint64]struct{} // hashes of 128 bits; nil until the log was read
	next  uint64                 // the sequence from which the log was not read yet
}

// maxKnown bounds the messages whose ids are remembered: about 60 MB. If the log has stored more since that time, the
// newest count, and a pull can append older events once more. The rules ignore them.
const maxKnown = 1_000_000

// refresh adds the ids that the log has got since the last call. So an event that was delivered during a long pull is
// known, too.
func (k *known) refresh(ctx context.Context) error {
	info, err := infoOf(ctx, k.log)
	if err != nil {
		return err
	}
	if k.ids == nil {
		stored, err := k.log.StoredBy(ctx, info, k.since)
		if err != nil {
			return fmt.Errorf("%w: %w", errNotRead, err)
		}
		k.ids, k.next = map[[2]uint64]struct{}{}, max(stored+1, lessThan(info.Last, maxKnown))
	}
	if k.next > info.Last {
		return nil
	}
	err = k.log.ReadUntil(ctx, k.next, info.Last, func(m events.Message) error {
		if len(k.ids) < maxKnown {
			k.ids[hashOf(m.ID)] = struct{}{}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errNotRead, err)
	}
	k.next = info.Last + 1
	return nil
}

// infoOf describes the part of the log that its server has. What only the archive has is not known.
func infoOf(ctx context.Context, log eventLog) (eventlog.Info, error) {
	info, err := log.Info(ctx)
	if err != nil {
		return info, fmt.Errorf("%w: %w", errNotRead, err)
	}
	info.First = info.ServerFirst
	return info, nil
}

// has reports whether the log has an event with this id. It is safe for concurrent use between two calls of refresh.
func (k *known) has(id string) bool {
	_, has := k.ids[hashOf(id)]
	return has
}

// lessThan returns the sequence with which the newest n messages begin.
func lessThan(last, n uint64) uint64 {
	if last < n {
		return 1
	}
	return last - n + 1
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashOf(id string) [2]uint64 {
	return [2]uint64{maphash.String(seeds[0], id), maphash.String(seeds[1], id)}
}
