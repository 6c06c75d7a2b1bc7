package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
)

const (
	// mergeParts is how many small segments are merged at least. A message is written again
	// about as often as its segment can be doubled until it is full.
	mergeParts = 8

	// Segments of up to smallSegment bytes of records count as equally small.
	smallSegment = 64 << 10
)

// merge merges the newest small segments if there are enough of them.
func (a *Archiver) merge(ctx context.Context) error {
	if len(a.archive.faults) > 0 {
		return nil // damaged segments stay as they are
	}
	all := a.archive.segments
	kept := len(all) - toMerge(all, a.SegmentBytes)
	parts := all[kept:]
	if len(parts) < mergeParts {
		return nil
	}
	first, last := parts[0], parts[len(parts)-1]
	tree := a.archive.treeBefore(first.First)
	if tree == nil {
		return nil // the segment before overlaps; they are merged together when those after them have grown
	}
	from := segment.Start{LogID: a.archive.logID, Partitions: first.Partitions, First: first.First, Before: first.Before, Tree: tree}
	name := segment.MergedName(first.First, last.Last)
	a.noteBegin()
	info, err := a.create(ctx, name, from, func(w *segment.Writer) error {
		return a.archive.Read(ctx, first.First, last.Last, func(r Record) error { return w.Write(&r) })
	})
	if errors.Is(err, storage.ErrExists) {
		return a.archive.Refresh(ctx)
	}
	if isDamage(err) {
		a.foundDamage(ctx, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("merge seq %d to %d: %w", first.First, last.Last, err)
	}
	if !slices.Equal(all, a.archive.segments) { // another archiver has merged while the parts were read
		if err := a.archive.Refresh(ctx); err != nil {
			return err
		}
		return a.tidy(ctx)
	}
	a.archive.segments = slices.Clone(all[:kept]) // parts is still used
	a.add(info)
	for _, part := range parts {
		a.archive.replaced = append(a.archive.replaced, part.Name)
	}
	return a.tidy(ctx)
}

// toMerge returns how many of the newest segments to merge. An older one joins when those after
// it have half of its bytes.
func toMerge(segments []*Info, full int64) (count int) {
	sum := int64(0)
	for _, info := range slices.Backward(segments) {
		if sum+info.Bytes > full || info.Bytes > max(2*sum, smallSegment) && count > 0 {
			break
		}
		sum += info.Bytes
		count++
	}
	return count
}

// tidy removes the segments that lie within merged ones. A merged segment is read first, as the
// place returns it: it must hold the same records as each part. A segment that cannot be removed
// stays. Its removal is tried again when the archive is opened the next time.
func (a *Archiver) tidy(ctx context.Context) error {
	if len(a.archive.faults) > 0 {
		return nil
	}
	replaced := a.archive.replaced
	a.archive.replaced = nil
	for len(replaced) > 0 {
		first, _, _ := segment.ParseName(replaced[0])
		merged := a.archive.segmentOf(first)
		if merged == nil {
			return fmt.Errorf("segment %s is in none that was merged", replaced[0])
		}
		end := slices.IndexFunc(replaced, func(name string) bool {
			first, _, _ := segment.ParseName(name)
			return first > merged.Last
		})
		if end < 0 {
			end = len(replaced)
		}
		a.noteBegin()
		stay, err := a.removeParts(ctx, merged, replaced[:end])
		if err != nil || stay {
			return err
		}
		replaced = replaced[end:]
	}
	return nil
}

// removeParts removes the parts of a merged segment. stay is true if the merged segment is damaged, or the place does
// not remove the parts.
func (a *Archiver) removeParts(ctx context.Context, merged *Info, parts []string) (stay bool, err error) {
	infos := map[uint64][]*Info{} // by the last sequence; a part can lie within another one that stayed
	for _, name := range parts {
		info := a.archive.known[name]
		if info == nil {
			info, err = a.archive.open(ctx, name)
			if isDamage(err) {
				a.Logger.WarnContext(ctx, "a segment is damaged that lies within another one; remove it with: ingest archive --heal", "error", err)
				continue
			}
			if err != nil {
				return false, err
			}
		}
		if info.Last <= merged.Last { // otherwise it holds more, and stays
			infos[info.Last] = append(infos[info.Last], info)
		}
	}
	var wrong error
	equal := map[string]bool{}
	err = a.archive.checkSegment(ctx, merged, a.archive.treeBefore(merged.First), func(seq uint64, value Hash) {
		for _, part := range infos[seq] {
			equal[part.Name] = value == part.After
			if value != part.After {
				wrong = contradiction("segment %s holds other records than its part %s", merged.Name, part.Name)
			}
		}
	})
	if isDamage(err) {
		a.foundDamage(ctx, err)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if wrong != nil {
		return false, wrong
	}
	if err := a.Place.Sync(ctx, a.archive.logID, merged.Name); err != nil {
		return false, err
	}
	for _, name := range parts {
		if !equal[name] {
			continue
		}
		if err := a.Place.Remove(ctx, a.archive.logID+"/"+name); err != nil {
			a.logStay(ctx, name, err)
			return true, ctx.Err()
		}
		a.stayLogged = false
		delete(a.archive.known, name)
	}
	return false, nil
}
