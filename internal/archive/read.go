package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/fingerprint"
)

// Read delivers the records from sequence from to until, in order and without gaps. It returns nil after deliver has
// returned for the last one. Records that are damaged in one segment are read from another one that holds them. It can
// fail after any record, also with a DamagedError or a GapError; records after the damage can be read then.
func (a *Archive) Read(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	var damaged []*DamagedError // the segments that were tried for from
	var failed error            // the error of deliver
	refreshes := 0              // since the last record
	take := func(r Record) error {
		from, damaged, refreshes, failed = r.Seq+1, nil, 0, deliver(r)
		return failed
	}
	for from <= until {
		info, err := a.holder(ctx, from, damaged)
		switch {
		case err != nil:
		case info != nil:
			err = a.readSegment(ctx, info, from, min(until, info.Last), take)
		case len(damaged) > 0:
			return damaged[0]
		default:
			return a.missing(from, until)
		}
		damage, is := errors.AsType[*DamagedError](err)
		switch {
		case err == nil:
		case is && failed == nil:
			damaged = append(damaged, damage)
		case errors.Is(err, fs.ErrNotExist) && failed == nil && refreshes < listTries: // it was merged or replaced
			if err := a.Refresh(ctx); err != nil {
				return err
			}
			refreshes++
		default:
			return err
		}
	}
	return nil
}

// holder returns a segment that holds a sequence and is not one of the damaged ones; nil if there is none. A damaged
// merged segment may not be the only one that holds its messages: its parts are removed only after it was found whole,
// and somebody may have put them back.
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

func (a *Archive) readSegment(ctx context.Context, info *Info, from, until uint64, deliver func(Record) error) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	object, err := a.place.Open(ctx, a.logID+"/"+info.Name)
	if err != nil {
		return err
	}
	s := segment.Known(info, object)
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.Read(ctx, from, until, func(r Record) error {
		err := deliver(r)
		if err != nil {
			stop() // do not wait for a slow store
		}
		return err
	})
	if isDamage(err) && a.isReplaced(ctx, info) {
		delete(a.known, info.Name)
		return fmt.Errorf("segment %s was replaced: %w", info.Name, fs.ErrNotExist)
	}
	return err
}

// isReplaced reports whether a segment is gone, or another one has its name. A merge makes the names of its parts free,
// and a second archiver that has not seen the merge yet may use such a name.
func (a *Archive) isReplaced(ctx context.Context, info *Info) bool {
	now, err := a.open(ctx, info.Name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return now.After != info.After || now.Size != info.Size
}

// Readable returns the lowest sequence from seq on that a segment holds; 0 if there is none. A
// frame of that segment can be damaged.
func (a *Archive) Readable(seq uint64) uint64 {
	if info := a.reaching(seq); info != nil {
		return max(info.First, seq)
	}
	return 0
}

// segmentOf returns the segment that holds a sequence; nil if there is none.
func (a *Archive) segmentOf(seq uint64) *Info {
	if info := a.reaching(seq); info != nil && info.First <= seq {
		return info
	}
	return nil
}

// reaching returns the first segment that holds seq or a later sequence; nil if there is none.
func (a *Archive) reaching(seq uint64) *Info {
	at := sort.Search(len(a.segments), func(i int) bool { return a.segments[i].Last >= seq })
	if at == len(a.segments) {
		return nil
	}
	return a.segments[at]
}

// missing returns why a sequence that no segment holds cannot be read.
func (a *Archive) missing(from, until uint64) error {
	for _, fault := range a.faults {
		if damaged, is := errors.AsType[*DamagedError](fault); is && damaged.From <= from && (damaged.To == 0 || damaged.To >= from) {
			return fault
		}
	}
	if next := a.Readable(from); next > 0 {
		until = min(until, next-1)
	}
	return &GapError{from, until}
}

// treeBefore returns the tree up to the record before first, with which a segment begins; nil if
// no segment ends there.
func (a *Archive) treeBefore(first uint64) *fingerprint.Tree {
	if first == a.origin {
		return new(fingerprint.Tree)
	}
	if before := a.segmentOf(first - 1); before != nil && before.Last == first-1 {
		return before.Tree
	}
	return nil
}
