package archive

import (
	"context"
	"errors"
	"slices"

	"github.com/payfold/payfold/internal/archive/segment"
)

// A damaged merged segment may not be the only one that holds its messages. Its parts are removed
// only after it was found whole, and somebody may have put them back.

// holder returns a segment that holds a sequence and is not one of the damaged ones; nil if there
// is none.
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

// Lacks returns the Faults because of which messages cannot be read. It leaves out damaged segments whose messages are
// all in whole segments. A damaged frame is found only when it is read.
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

// archivedSource is a Source that reads the messages from the archive.
type archivedSource struct {
	Source
	archive *Archive
}

func (s archivedSource) ReadRecords(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return s.archive.Read(ctx, from, until, deliver)
}
