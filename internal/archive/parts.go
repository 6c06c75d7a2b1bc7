package archive

import (
	"context"
	"slices"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/fingerprint"
)

// healFromParts fills a gap from whole segments within it, which a damaged merged one hides. It
// returns nil if they do not hold all of it.
func (a *Archiver) healFromParts(ctx context.Context, g gap, head Head) (*Healed, error) {
	parts, err := a.archive.wholeParts(ctx, g)
	if err != nil || parts == nil {
		return nil, err
	}
	log := a.Source
	defer func() { a.Source = log }()
	a.Source = partsSource{log, a.archive.only(parts)}
	done, err := a.heal(ctx, g, head)
	return &done, err
}

// partsSource has the messages of parts, which are read as if they were the log.
type partsSource struct {
	Source
	parts *Archive
}

func (p partsSource) ReadRecords(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return p.parts.Read(ctx, from, until, deliver)
}

// only returns a copy that has these segments.
func (a *Archive) only(segments []*Info) *Archive {
	out := a.Clone()
	out.segments, out.faults = segments, nil
	return out
}

// wholeParts returns the segments that together hold a gap, each read in full and chained to the
// one before; nil if there are none.
func (a *Archive) wholeParts(ctx context.Context, g gap) (parts []*Info, err error) {
	value, tree := segment.ChainStart(a.logID), new(fingerprint.Tree)
	if g.before != nil {
		value, tree = g.before.After, g.before.Tree
	}
	for next := g.first; next <= g.last; {
		at := slices.IndexFunc(g.damaged, func(name string) bool {
			if first, _, _ := segment.ParseName(name); first != next || err != nil {
				return false
			}
			var part *Info
			if part, err = a.wholeSegment(ctx, name, tree); part == nil || part.Before != value || part.Last > g.last {
				return false
			}
			parts, value, tree, next = append(parts, part), part.After, part.Tree, part.Last+1
			return true
		})
		if err != nil || at < 0 {
			return nil, err
		}
	}
	return parts, nil
}

// wholeSegment opens a segment and reads all of it; nil if it is damaged.
func (a *Archive) wholeSegment(ctx context.Context, name string, before *fingerprint.Tree) (*Info, error) {
	info, err := a.open(ctx, name)
	if err == nil {
		err = a.checkSegment(ctx, info, before, nil)
	}
	if isDamage(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}
