package archive

import (
	"context"
	"crypto/sha256"
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
		reach, err := a.archive.reachOf(ctx, c.name)
		if err != nil {
			return err
		}
		if reach = max(reach, c.first, c.last); reach > head.Last {
			return fmt.Errorf("segment %s is damaged and reaches to seq %d, but the log ends with seq %d", c.name, reach, head.Last)
		}
	}
	remains, err := a.archive.remainsOf(ctx, segment.PartName(from.First))
	if err != nil {
		return err
	}
	last, bytes := from.First, 0
	var record []byte
	err = a.Source.ReadRecords(ctx, from.First, head.Last, func(r Record) (err error) {
		if record, err = segment.AppendRecord(record[:0], &r); err != nil {
			return err
		}
		if archived, ok := remains.Records[r.Seq]; ok && archived != sha256.Sum256(record) {
			return contradiction("seq %d of segment %s, which is damaged, is another message in the log", r.Seq, segment.PartName(from.First))
		}
		if last, bytes = r.Seq, bytes+len(record); int64(bytes) >= a.SegmentBytes {
			return errFull
		}
		return nil
	})
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
