package archive

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/payfold/payfold/internal/events"
)

// Read delivers the records from sequence from to until, in order and without gaps. A record's
// body is valid only until deliver returns. It returns nil after deliver has had the last one.
// It can fail after any record, also with a DamagedError or a GapError; records after the damage
// can be read then.
func (a *Archive) Read(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return a.read(ctx, from, until, nil, deliver)
}

// ReadMessages is Read for readers that need no headers but those that payfold reads.
func (a *Archive) ReadMessages(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	return a.read(ctx, from, until, make([]events.Header, 0, usualHeaders), func(r Record) error { return deliver(r.Message()) })
}

func (a *Archive) read(ctx context.Context, from, until uint64, space []events.Header, deliver func(Record) error) error {
	refreshed := false
	for from <= until {
		info := a.segmentOf(from)
		if info == nil {
			return a.missing(from, until)
		}
		err := a.readSegment(ctx, info, from, min(until, info.Last), space, func(r Record) error {
			from, refreshed = r.Seq+1, false
			return deliver(r)
		})
		if errors.Is(err, fs.ErrNotExist) && !refreshed { // it was merged
			refreshed, err = true, a.Refresh(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) readSegment(ctx context.Context, info *Info, from, until uint64, space []events.Header, deliver func(Record) error) (err error) {
	object, err := a.place.Open(ctx, a.logID+"/"+info.Name)
	if err != nil {
		return err
	}
	s := &segment{Info: info, object: object, space: space}
	defer func() { err = errors.Join(err, s.close()) }()
	return s.read(ctx, from, until, deliver)
}

// Clone returns a copy for another goroutine, so that it need not open the segments again.
func (a *Archive) Clone() *Archive {
	out := *a
	out.known, out.segments = maps.Clone(a.known), slices.Clone(a.segments)
	out.replaced, out.faults = slices.Clone(a.replaced), slices.Clone(a.faults)
	return &out
}

// LogID is that of the log whose archive this is.
func (a *Archive) LogID() string { return a.logID }

// Readable returns the least sequence from seq on that a segment holds; 0 if there is none. A
// frame of it can be damaged.
func (a *Archive) Readable(seq uint64) uint64 {
	if a.segmentOf(seq) != nil {
		return seq
	}
	if next := a.nextSegment(seq); next != nil {
		return next.First
	}
	return 0
}
