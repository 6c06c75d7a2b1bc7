package archive

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/backoff"
)

// listTries is how often the segments are listed until they have no gap and none is gone: a store may not show a
// merged segment yet and no longer show its parts, and a merged segment can be merged again.
const listTries = 4

// Refresh looks for segments that were added, merged or removed.
func (a *Archive) Refresh(ctx context.Context) error {
	wait := backoff.Backoff{Min: 50 * time.Millisecond, Max: time.Second}
	for try := 1; ; try++ {
		gap, err := a.list(ctx)
		again := gap || errors.Is(err, fs.ErrNotExist)
		if !again || try == listTries {
			return err
		}
		if err := wait.Wait(ctx); err != nil {
			return err
		}
	}
}

// list reads the names and the segments once. gap is true if sequences are missing. The error is
// fs.ErrNotExist if a segment was removed meanwhile.
func (a *Archive) list(ctx context.Context) (gap bool, err error) {
	names, err := a.place.List(ctx, a.logID)
	if err != nil {
		return false, err
	}
	c := newCandidates(names)
	visible, replaced := c.split()
	if err := a.load(ctx, visible); err != nil {
		return false, err
	}
	a.names, a.origin, a.segments, a.faults, a.replaced = c, 0, nil, nil, replaced
	for next := c.first(); next > 0; {
		info, fault, err := a.holding(ctx, c, next)
		if err != nil {
			return false, err
		}
		if fault != nil && !slices.ContainsFunc(a.faults, func(known error) bool { return known.Error() == fault.Error() }) {
			a.faults = append(a.faults, fault)
		}
		if info == nil { // damaged or missing
			after := c.after(next)
			if fault == nil && after > 0 {
				a.faults, gap = append(a.faults, &GapError{next, after - 1}), true
				a.forgetNearest(c, next)
			}
			next = after
			continue
		}
		if fault, err = a.follows(ctx, info); err != nil {
			return false, err
		} else if fault != nil {
			a.faults = append(a.faults, fault)
		}
		a.segments = append(a.segments, info)
		if next = info.Last + 1; !c.reaches(next) {
			break
		}
	}
	return gap, nil
}

// forgetNearest lets the next try open the nearest segment before a gap again: another one, which holds more, may have
// its name by now (see isReplaced).
func (a *Archive) forgetNearest(c candidates, seq uint64) {
	if names := c.holding(seq); len(names) > 0 {
		delete(a.known, names[0])
	}
}

// openSegments is how many segments are opened at once.
const openSegments = 8

// load opens the segments that are not known yet. Damage is not an error here.
func (a *Archive) load(ctx context.Context, names []string) error {
	infos := make([]*Info, len(names))
	group, opening := errgroup.WithContext(ctx)
	group.SetLimit(openSegments)
	for i, name := range names {
		if a.known[name] != nil {
			continue
		}
		group.Go(func() (err error) {
			infos[i], err = a.open(opening, name)
			if isDamage(err) {
				err = nil
			}
			return err
		})
	}
	err := group.Wait()
	for i, info := range infos {
		if info != nil {
			a.known[names[i]] = info
		}
	}
	return err
}

// open reads a segment's header and footer.
func (a *Archive) open(ctx context.Context, name string) (*Info, error) {
	s, err := a.openSegment(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.Info, s.Close()
}

func (a *Archive) openSegment(ctx context.Context, name string) (*segment.Segment, error) {
	object, err := a.place.Open(ctx, a.logID+"/"+name)
	if err != nil {
		return nil, err
	}
	return segment.Open(name, object)
}

// holding returns the segment that holds a sequence, or nil. fault is the damage of a segment that
// may hold it.
func (a *Archive) holding(ctx context.Context, c candidates, seq uint64) (info *Info, fault, err error) {
	for _, name := range c.holding(seq) {
		info := a.known[name]
		if info == nil {
			if info, err = a.open(ctx, name); err != nil {
				if isDamage(err) {
					fault = err
					continue
				}
				return nil, nil, err
			}
			a.known[name] = info
		}
		if info.Last >= seq {
			return info, fault, nil
		}
	}
	return nil, fault, nil
}

// follows returns how a segment contradicts the one before it; nil if it does not.
func (a *Archive) follows(ctx context.Context, info *Info) (fault, err error) {
	if info.LogID != a.logID {
		return contradiction("segment %s is of log %s, not of %s", info.Name, info.LogID, a.logID), nil
	}
	before := a.end()
	if before != nil && info.Partitions != before.Partitions {
		return contradiction("segment %s has %d partitions, those before it have %d", info.Name, info.Partitions, before.Partitions), nil
	}
	if fault := a.sameOrigin(info); fault != nil {
		return fault, nil
	}
	value := info.Before
	switch {
	case before == nil && info.First == a.origin:
		if value != segment.ChainStart(a.logID) {
			return contradiction("segment %s begins like the log, but its records are not the first ones", info.Name), nil
		}
		return nil, nil
	case before == nil && len(a.faults) == 0:
		return &GapError{a.origin, info.First - 1}, nil
	case before == nil:
		return nil, nil // what lies before it is damaged, and is a fault already
	case before.Last+1 < info.First:
		return nil, nil // what lies between them is missing, and is a fault already
	case before.Last+1 > info.First: // an archiver that had been frozen wrote it
		if value, err = a.valueAt(ctx, info, before.Last); err != nil {
			if isDamage(err) {
				return err, nil
			}
			return nil, err
		}
	}
	if value != before.After {
		return contradiction("segment %s does not follow segment %s: their records differ", info.Name, before.Name), nil
	}
	return nil, nil
}

// sameOrigin returns how a segment's tree contradicts the trees before it; nil if it does not. It
// sets origin if it is not known yet.
func (a *Archive) sameOrigin(info *Info) error {
	leaves := info.Tree.Size()
	if leaves > info.Last || info.Last-leaves+1 > info.First {
		return contradiction("the tree of segment %s has %d leaves", info.Name, leaves)
	}
	origin := info.Last - leaves + 1
	if a.origin != 0 && origin != a.origin {
		return contradiction("the tree of segment %s begins with seq %d, and the trees before with seq %d", info.Name, origin, a.origin)
	}
	a.origin = origin
	return nil
}

// valueAt returns the chain value after a sequence within a segment.
func (a *Archive) valueAt(ctx context.Context, info *Info, seq uint64) (out Hash, err error) {
	err = a.checkSegment(ctx, info, nil, func(at uint64, value Hash) {
		if at == seq {
			out = value
		}
	})
	return out, err
}
