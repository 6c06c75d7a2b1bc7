package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/fingerprint"
)

var errFull = errors.New("the segment is full")

// cut writes the next segment. If another archiver has written it already, that segment counts.
func (a *Archiver) cut(ctx context.Context, head Head) error {
	next := a.archive.next(head)
	from := startAfter(a.archive.end(), next, head)
	info, err := a.create(ctx, segment.PartName(next), from, func(w *segment.Writer) error {
		return a.Source.ReadRecords(ctx, next, head.Last, func(r Record) error {
			if err := w.Write(&r); err != nil {
				return err
			}
			if w.Bytes() >= a.SegmentBytes {
				return errFull
			}
			return nil
		})
	})
	if errors.Is(err, storage.ErrExists) {
		return a.nameTaken(ctx, from, head)
	}
	if err != nil {
		return fmt.Errorf("write the segment from seq %d: %w", next, err)
	}
	a.add(info)
	return a.proveStore(ctx, info)
}

// startAfter returns where a segment begins that follows another one. before is nil at the log's beginning.
func startAfter(before *Info, first uint64, head Head) segment.Start {
	start := segment.Start{LogID: head.LogID, Partitions: head.Partitions, First: first, Before: segment.ChainStart(head.LogID), Tree: new(fingerprint.Tree)}
	if before != nil {
		start.Before, start.Tree = before.After, before.Tree
	}
	return start
}

// nameTaken is called when the next segment's name is taken. It continues after the segment of
// another archiver, or after a damaged one.
func (a *Archiver) nameTaken(ctx context.Context, from segment.Start, head Head) error {
	if err := a.archive.Refresh(ctx); err != nil {
		return err
	}
	if err := a.archive.Contradiction(); err != nil {
		return err
	}
	if a.archive.Last() >= from.First {
		return nil
	}
	_, err := a.archive.open(ctx, segment.PartName(from.First))
	if isDamage(err) && a.archive.next(head) == from.First {
		return a.afterDamage(ctx, from, head)
	}
	return errors.Join(append([]error{fmt.Errorf("segment %s exists and cannot be used", segment.PartName(from.First))}, a.archive.faults...)...)
}

// afterDamage writes the next segment when a damaged one has its name. It uses the name of a merged segment,
// which readers prefer. The damaged segment stays for Heal. afterDamage fails if a segment is known to hold
// later messages than the log, because then the log was set back.
func (a *Archiver) afterDamage(ctx context.Context, from segment.Start, head Head) error {
	for _, c := range a.archive.names {
		if reach := a.archive.reach(c); reach > head.Last {
			return fmt.Errorf("segment %s reaches to seq %d, but the log ends with seq %d", c.name, reach, head.Last)
		}
	}
	pieces, err := a.pieces(ctx, gap{first: from.First, last: head.Last}, from, a.Source)
	if err != nil {
		return err
	}
	info, err := a.replace(ctx, from, pieces[0], a.Source)
	if err != nil {
		return fmt.Errorf("write the segment from seq %d beside a damaged one: %w", from.First, err)
	}
	a.add(info)
	return nil
}

// proveStore checks, after the first segment of this process, what no earlier check can see: two
// logs may have begun in one place at the same time, and the place must refuse a second object with
// the same name. If another archiver has just merged and removed the segment, the name was free,
// and nothing is proven. Then the next segment is tried.
func (a *Archiver) proveStore(ctx context.Context, info *Info) error {
	if a.proven {
		return nil
	}
	if err := RequireAlone(ctx, a.Place, info.LogID); err != nil {
		return err
	}
	err := a.copyObject(ctx, info.Name, info.Name)
	switch {
	case errors.Is(err, storage.ErrExists):
		a.proven = true
		return nil
	case err == nil:
		if err := a.archive.Refresh(ctx); err != nil {
			return err
		}
		if err := a.archive.Contradiction(); err != nil {
			return err
		}
		if names := a.archive.names.holding(info.First); len(names) > 0 && names[0] != info.Name { // merged, whole or not
			return a.tidy(ctx)
		}
		a.unsafe = errors.New("the store ignores the condition If-None-Match of a write, so that one archiver could overwrite segments of another")
		return a.unsafe
	default:
		return err
	}
}

// copyObject creates an object with the bytes of another one.
func (a *Archiver) copyObject(ctx context.Context, from, name string) error {
	return a.Place.Create(ctx, a.archive.logID+"/"+name, func(to io.Writer) (err error) {
		object, err := a.Place.Open(ctx, a.archive.logID+"/"+from)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, object.Close()) }()
		_, err = io.Copy(to, io.NewSectionReader(object, 0, object.Size()))
		return err
	})
}

// create writes a segment with the records that fill writes.
func (a *Archiver) create(ctx context.Context, name string, from segment.Start, fill func(*segment.Writer) error) (info *Info, err error) {
	err = a.Place.Create(ctx, from.LogID+"/"+name, func(to io.Writer) error {
		w, err := segment.NewWriter(to, a.encoder, from)
		if err != nil {
			return err
		}
		w.FrameBytes, w.Pause = a.FrameBytes, pauses(ctx, a.hurries)
		if err := fill(w); err != nil && !errors.Is(err, errFull) {
			return err
		}
		written, err := w.Close()
		written.Name = name
		info = &written
		return err
	})
	return info, err
}

func (a *Archiver) add(info *Info) {
	a.metrics.segments.Inc()
	a.metrics.bytes.Add(float64(info.Size))
	a.archive.known[info.Name] = info
	if a.archive.origin == 0 {
		a.archive.origin = info.First
	}
	a.archive.segments = append(a.archive.segments, info)
	a.agreed = info.After
}
