package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/archive/segment"
)

// afterDamage writes the next segment when a damaged one has its name. It uses the name of a merged segment,
// which readers prefer. The damaged segment stays for Heal. afterDamage fails if a segment is known to hold
// later messages than the log, because then the log was set back.
func (a *Archiver) afterDamage(ctx context.Context, from segment.Start, head Head) error {
	for _, c := range a.archive.names {
		if reach := a.archive.reach(c); reach > head.Last {
			return fmt.Errorf("segment %s reaches to seq %d, but the log ends with seq %d", c.name, reach, head.Last)
		}
	}
	last, size := from.First, 0
	err := a.Source.ReadRecords(ctx, from.First, head.Last, segment.WithBytes(func(r Record, bytes []byte) error {
		if last, size = r.Seq, size+len(bytes); int64(size) >= a.SegmentBytes {
			return errFull
		}
		return nil
	}))
	if err != nil && !errors.Is(err, errFull) {
		return err
	}
	info, err := a.replace(ctx, from, last, a.Source)
	if err != nil {
		return fmt.Errorf("write the segment from seq %d beside a damaged one: %w", from.First, err)
	}
	a.add(info)
	return nil
}
