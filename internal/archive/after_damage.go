package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/archive/segment"
)

// afterDamage writes the next segment when a damaged one has its name. It uses the name of a merged segment,
// which readers prefer. The damaged segment stays for Heal. afterDamage fails if the damaged one holds other
// messages than the log, or later ones, because then the log was set back.
func (a *Archiver) afterDamage(ctx context.Context, from segment.Start, head Head) error {
	for _, c := range a.archive.names {
		if c.first < from.First {
			continue
		}
		reach, _, err := a.archive.reachOf(ctx, c)
		if err != nil {
			return err
		}
		if reach > head.Last {
			return fmt.Errorf("segment %s is damaged and reaches to seq %d, but the log ends with seq %d", c.name, reach, head.Last)
		}
	}
	remains, err := a.archive.remainsOf(ctx, segment.PartName(from.First))
	if err != nil {
		return err
	}
	last, size := from.First, 0
	err = a.Source.ReadRecords(ctx, from.First, head.Last, segment.WithBytes(func(r Record, bytes []byte) error {
		if remains.Contradicts(r.Seq, bytes) {
			return contradiction("seq %d of segment %s, which is damaged, is another message in the log", r.Seq, segment.PartName(from.First))
		}
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
