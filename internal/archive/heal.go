package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
)

// Healed is one gap between whole segments that was filled from the log.
type Healed struct {
	First    uint64   `json:"first_seq"`
	Last     uint64   `json:"last_seq"`
	Segments []string `json:"segments"` // new ones
	Kept     []string `json:"kept"`     // those that they replace, by their new names; no reader uses them
}

// HealResult is what Heal has done.
type HealResult struct {
	Archive string   `json:"archive"`
	LogID   string   `json:"log_id"`
	Healed  []Healed `json:"healed,omitempty"`
	Left    []string `json:"left,omitempty"` // what is damaged or missing, and not in the log any more
}

// Heal reads every byte of the archive, and writes again from the log what is damaged or missing. Messages that the log
// no longer has come from other segments that hold them, such as the parts of a merged one. Heal deletes no bytes: after
// it has read the replacement of a segment back, it renames the segment. A gap that cannot be filled stays as it is.
// Heal fails with a ContradictionError if log and archive differ. Then nothing of that gap is changed. After any error,
// also a kill, Heal can be run again. An archiver of the log may be running. Of config, only Place, Source and Logger
// are required.
func Heal(ctx context.Context, config Config) (out HealResult, err error) {
	a := NewArchiver(config)
	a.waiting = time.Unix(0, 0)              // so there are no pauses between frames
	defer func() { _ = a.encoder.Close() }() // of an encoder without a stream
	var before []Healed
	for try := 1; ; try++ {
		out, err = a.healAll(ctx)
		out.Healed = append(before, out.Healed...)
		if !errors.Is(err, fs.ErrNotExist) || try == listTries { // otherwise segments were merged meanwhile
			return out, err
		}
		before = out.Healed
	}
}

func (a *Archiver) healAll(ctx context.Context) (out HealResult, err error) {
	head, err := a.Source.Head(ctx)
	if err != nil {
		return out, err
	}
	out.Archive, out.LogID = a.Place.String(), head.LogID
	whole, err := a.inspectAll(ctx, head)
	if err != nil {
		return out, err
	}
	for _, g := range a.archive.gaps(whole, head) {
		source, gone := a.Source, g.first < head.First || g.last > head.Last
		if gone {
			source = archivedSource{a.Source, a.archive.Clone()}
		}
		done, err := a.heal(ctx, g, head, source)
		if from, _ := Extent(err); from > 0 && gone && done.Segments == nil {
			out.Left = append(out.Left, fmt.Sprintf("seq %d to %d cannot be read, and the log has only seq %d to %d", g.first, g.last, head.First, head.Last))
			continue
		}
		if err != nil {
			return out, fmt.Errorf("heal seq %d to %d: %w", g.first, g.last, err)
		}
		out.Healed = append(out.Healed, done)
	}
	done, err := a.keepReplaced(ctx, head)
	out.Healed = append(out.Healed, done...)
	return out, err
}

// inspectAll opens the archive and returns its whole segments, in order. An archiver may add and
// merge segments meanwhile, so all that is known of them comes from one list.
func (a *Archiver) inspectAll(ctx context.Context, head Head) (whole []*Info, err error) {
	if err := RequireAlone(ctx, a.Place, head.LogID); err != nil {
		return nil, err
	}
	if a.archive, err = Open(ctx, a.Place, head.LogID); err != nil {
		return nil, err
	}
	if err := a.archive.Contradiction(); err != nil {
		return nil, err
	}
	err = a.archive.checkEach(ctx, func(info *Info, damage error) {
		if damage == nil {
			whole = append(whole, info)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := a.archive.Contradiction(); err != nil {
		return nil, err
	}
	if err := a.archive.compareNewest(ctx, a.Source, head); err != nil && !isDamage(err) {
		return nil, err
	}
	return whole, nil
}

// gap is what lies between two whole segments: damaged segments, or nothing.
type gap struct {
	first, last   uint64
	before, after *Info // nil at the archive's beginning or end
	damaged       candidates
}

// gaps returns the sequences that no whole segment holds, in order.
func (a *Archive) gaps(whole []*Info, head Head) (out []gap) {
	c, origin := a.names, a.origin
	if origin == 0 { // no footer can be read
		origin = min(c.first(), head.Begin)
	}
	var before *Info
	next := origin
	add := func(last uint64, after *Info) {
		g := gap{first: next, last: last, before: before, after: after}
		for _, candidate := range c {
			if candidate.first >= g.first && a.reach(candidate) <= g.last {
				g.damaged = append(g.damaged, candidate)
			}
		}
		out = append(out, g)
	}
	for _, info := range whole {
		if info.First > next {
			add(info.First-1, info)
		}
		if info.Last >= next {
			before, next = info, info.Last+1
		}
	}
	if c.reaches(next) { // damaged segments without a whole one after them
		last := next
		for _, candidate := range c {
			last = max(last, a.reach(candidate))
		}
		if a.Last() < next || c.reaches(a.Last()+1) { // no footer says how far they reach
			last = max(last, head.Last)
		}
		add(last, nil)
	}
	return out
}

// reach returns the last sequence that a segment is known to hold. Without a whole footer, that of a segment as it was
// cut is only its first one.
func (a *Archive) reach(c candidate) uint64 {
	if info := a.known[c.name]; info != nil {
		return info.Last
	}
	return max(c.first, c.last)
}

// heal fills one gap with the messages of a source.
func (a *Archiver) heal(ctx context.Context, g gap, head Head, source Source) (Healed, error) {
	done := Healed{First: g.first, Last: g.last}
	from := startAfter(g.before, g.first, head)
	pieces, err := a.pieces(ctx, g, from, source)
	if err != nil {
		return done, err
	}
	for _, last := range pieces {
		for from.First <= last {
			info, err := a.replace(ctx, from, last, source)
			if err != nil {
				return done, err
			}
			done.Segments = append(done.Segments, info.Name)
			from.First, from.Before, from.Tree = info.Last+1, info.After, info.Tree
		}
	}
	if err := a.Place.Sync(ctx, head.LogID, done.Segments...); err != nil {
		return done, err
	}
	for _, c := range g.damaged {
		if slices.Contains(done.Segments, c.name) {
			continue // an earlier run wrote it
		}
		kept, err := a.keep(ctx, c.name)
		if err != nil {
			return done, err
		}
		done.Kept = append(done.Kept, kept)
	}
	return done, nil
}

// keep renames a segment that was replaced. No reader takes the new name for a segment's.
func (a *Archiver) keep(ctx context.Context, name string) (kept string, err error) {
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.replaced-%d", name, n)
		err := a.copyObject(ctx, name, kept)
		if errors.Is(err, storage.ErrExists) {
			continue
		}
		if err == nil {
			err = a.Place.Sync(ctx, a.archive.logID, kept)
		}
		if err == nil {
			err = a.Place.Remove(ctx, a.archive.logID+"/"+name)
		}
		if err != nil {
			return "", fmt.Errorf("rename segment %s, which was replaced: %w", name, err)
		}
		return kept, nil
	}
}

// pieces returns the last sequences of the segments into which a gap is divided. It fails with a ContradictionError if
// the log's messages differ from a segment within the gap whose footer can be read, or do not lead to the segment after
// the gap.
func (a *Archiver) pieces(ctx context.Context, g gap, from segment.Start, source Source) (lasts []uint64, err error) {
	ends := map[uint64]*Info{} // damaged segments whose footers say what they hold
	for _, info := range a.archive.segments {
		ends[info.Last] = info
	}
	chain, size := segment.NewChain(from.Before), 0
	err = source.ReadRecords(ctx, g.first, g.last, segment.WithBytes(func(r Record, bytes []byte) error {
		chain.Add(bytes)
		if info := ends[r.Seq]; info != nil && chain.Value != info.After {
			return contradiction("the log's messages from seq %d to %d do not lead to the end of segment %s", g.first, r.Seq, info.Name)
		}
		if size += len(bytes); int64(size) >= a.SegmentBytes || r.Seq == g.last {
			lasts, size = append(lasts, r.Seq), 0
		}
		return nil
	}))
	if err == nil && g.after != nil && chain.Value != g.after.Before {
		err = contradiction("the log's messages from seq %d to %d do not lead to segment %s", g.first, g.last, g.after.Name)
	}
	return lasts, err
}

// replace writes the segment that begins with from and ends with last, and reads it back. A whole
// segment that already has the name stays. A damaged one with the name cannot be overwritten, so
// the new segment ends earlier, and the caller continues after it. A segment of a single message
// cannot end earlier, and gets the name of a segment as it was cut.
func (a *Archiver) replace(ctx context.Context, from segment.Start, last uint64, source Source) (*Info, error) {
	info, err := a.write(ctx, segment.MergedName(from.First, last), from, last, source)
	switch {
	case !isDamage(err):
		return info, err
	case last > from.First:
		return a.replace(ctx, from, from.First+(last-from.First)/2, source)
	default:
		return a.write(ctx, segment.PartName(last), from, last, source)
	}
}

// write is replace with a name. The error is a DamagedError if a damaged segment has that name.
func (a *Archiver) write(ctx context.Context, name string, from segment.Start, last uint64, source Source) (*Info, error) {
	_, err := a.create(ctx, name, from, func(w *segment.Writer) error {
		return source.ReadRecords(ctx, from.First, last, func(r Record) error { return w.Write(&r) })
	})
	if err != nil && !errors.Is(err, storage.ErrExists) {
		return nil, err
	}
	info, err := a.archive.open(ctx, name)
	if err == nil {
		err = a.archive.checkSegment(ctx, info, from.Tree, nil)
	}
	if err == nil && info.Before != from.Before {
		err = contradiction("segment %s does not follow what lies before it", name)
	}
	return info, err
}

// keepReplaced renames segments without a whole header or footer whose sequences are all in other ones: an earlier run
// has replaced them, or an archiver has gone on beside them.
func (a *Archiver) keepReplaced(ctx context.Context, head Head) (out []Healed, err error) {
	if err := a.archive.Refresh(ctx); err != nil {
		return nil, err
	}
	for _, c := range a.archive.names {
		within := a.archive.covers(c)
		if len(within) == 0 {
			continue
		}
		_, err := a.archive.open(ctx, c.name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !isDamage(err) {
			return out, err
		}
		done := Healed{First: c.first, Last: within[len(within)-1].Last}
		for _, info := range within {
			done.Segments = append(done.Segments, info.Name)
		}
		if err := a.Place.Sync(ctx, head.LogID, done.Segments...); err != nil {
			return out, err
		}
		kept, err := a.keep(ctx, c.name)
		if err != nil {
			return out, err
		}
		done.Kept = []string{kept}
		out = append(out, done)
	}
	return out, nil
}

// covers returns the other segments that together hold the sequences of a segment's name; none if
// there is a gap between them.
func (a *Archive) covers(c candidate) (within []*Info) {
	for seq := c.first; seq <= max(c.first, c.last); {
		info := a.segmentOf(seq)
		if info == nil || info.Name == c.name {
			return nil
		}
		within, seq = append(within, info), info.Last+1
	}
	return within
}

// archivedSource is a Source that reads the messages from the archive.
type archivedSource struct {
	Source
	archive *Archive
}

func (s archivedSource) ReadRecords(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return s.archive.Read(ctx, from, until, deliver)
}
