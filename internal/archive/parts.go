package archive

import (
	"context"
	"errors"
	"slices"

	"github.com/payfold/payfold/internal/archive/segment"
)

// A merged segment that is damaged need not be the only one that holds its messages: its parts are
// removed only when it was whole, and somebody may have put them back.

// holder returns a segment that holds a sequence and is none of these, which are damaged there; nil
// if there is none.
func (a *Archive) holder(ctx context.Context, seq uint64, damaged []*DamagedError) (*Info, error) {
	if len(damaged) == 0 {
		return a.segmentOf(seq), nil
	}
	others := slices.DeleteFunc(slices.Clone(a.names), func(c candidate) bool {
		return slices.ContainsFunc(damaged, func(d *DamagedError) bool { return d.Segment == c.name })
	})
	info, _, err := a.holding(ctx, others, seq)
	if info == nil || info.LogID != a.logID || a.sameOrigin(info) != nil {
		return nil, err
	}
	return info, err
}

// Lacks returns those of Faults because of which messages cannot be read. The others are segments
// that are damaged, and of which whole ones hold every message. A damaged frame is known when it is read.
func (a *Archive) Lacks() []error {
	return slices.DeleteFunc(slices.Clone(a.faults), func(fault error) bool {
		damaged, is := errors.AsType[*DamagedError](fault)
		if !is || damaged.Frame > 0 {
			return false
		}
		first, last, _ := segment.ParseName(damaged.Segment)
		return last > 0 && len(a.covers(candidate{damaged.Segment, first, last})) > 0
	})
}

// archivedSource is a log of which the archive has the messages.
type archivedSource struct {
	Source
	archive *Archive
}

func (s archivedSource) ReadRecords(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return s.archive.Read(ctx, from, until, deliver)
}
