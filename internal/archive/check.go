package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/fingerprint"
)

// Checked is what CheckAgainst has found.
type Checked struct {
	Archive string `json:"archive"`
	Compared
	Full   bool     `json:"full"` // every byte of the archive was read, too
	Faults []string `json:"faults,omitempty"`
}

// CheckAgainst compares the archive of a log with the log; with full it reads every byte of the
// archive, too. It changes nothing. source is nil if the log cannot be read. It fails if the
// place or the log cannot be read.
func CheckAgainst(ctx context.Context, place storage.Place, logID string, source Source, full bool) (out *Checked, err error) {
	for try := 1; ; try++ {
		out, err = checkAgainst(ctx, place, logID, source, full)
		if !errors.Is(err, fs.ErrNotExist) || try == listTries { // otherwise segments were merged meanwhile
			return out, err
		}
	}
}

func checkAgainst(ctx context.Context, place storage.Place, logID string, source Source, full bool) (*Checked, error) {
	out := &Checked{Archive: place.String(), Full: full}
	wrong := func(fault error) {
		if text := fault.Error(); !slices.Contains(out.Faults, text) { // some damage is found twice
			out.Faults = append(out.Faults, text)
		}
	}
	opened, err := examine(ctx, place, logID, source, wrong)
	if err != nil {
		return nil, err
	}
	if full {
		if err := opened.Check(ctx, wrong); err != nil {
			return nil, err
		}
	}
	if source == nil {
		return out, nil
	}
	if err := opened.checkLag(ctx, source, wrong); err != nil {
		return nil, err
	}
	out.Compared, err = opened.Compare(ctx, source, wrong, nil)
	return out, err
}

// maxLag is how old a message may be that is not archived. It is far more than any interval of an archiver.
const maxLag = 24 * time.Hour

// checkLag reports a fault if the archive lacks messages that an archiver would have archived long ago.
func (a *Archive) checkLag(ctx context.Context, source Source, wrong func(error)) error {
	head, err := source.Head(ctx)
	if err != nil {
		return err
	}
	next, storedAt, err := a.waiting(ctx, source, head)
	if next > 0 && time.Since(storedAt) > maxLag {
		wrong(fmt.Errorf("it lacks seq %d to %d; the first was stored at %s", next, head.Last, storedAt.UTC().Format(time.RFC3339)))
	}
	return err
}

// Check reads everything and compares it with what the segments say. It calls damaged with each
// fault, including those of Faults, and continues after it. It can report a fault twice. It fails if
// the place cannot be read.
func (a *Archive) Check(ctx context.Context, damaged func(error)) error {
	err := a.checkEach(ctx, func(_ *Info, damage error) {
		if damage != nil {
			damaged(damage)
		}
	})
	for _, fault := range a.faults {
		damaged(fault)
	}
	return err
}

// checkEach reads each segment, in order, and calls checked with its DamagedError, or nil. Reading
// a large archive takes longer than an archiver waits until it merges. So if a segment is gone,
// checkEach lists the segments again.
func (a *Archive) checkEach(ctx context.Context, checked func(info *Info, damage error)) error {
	refreshes := 0 // since the last segment
	for next := a.Readable(1); next > 0; {
		info := a.segmentOf(next)
		err := a.checkSegment(ctx, info, a.treeBefore(info.First), nil)
		switch {
		case errors.Is(err, fs.ErrNotExist) && refreshes < listTries:
			if err := a.Refresh(ctx); err != nil {
				return err
			}
			refreshes, next = refreshes+1, a.Readable(next)
			continue
		case isDamage(err):
			checked(info, err)
		case err != nil:
			return err
		default:
			checked(info, nil)
		}
		refreshes, next = 0, a.Readable(info.Last+1)
	}
	return nil
}

// checkSegment reads all of a segment. passed may be nil; see segment.Segment.Check.
func (a *Archive) checkSegment(ctx context.Context, info *Info, before *fingerprint.Tree, passed func(seq uint64, value Hash)) (err error) {
	s, err := a.openSegment(ctx, info.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Check(ctx, before, passed)
}
