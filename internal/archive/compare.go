package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/fingerprint"
)

// compareEnd compares the end of an archive with the log. It reads the log's head after the archive,
// because both grow meanwhile. If the error is a DamagedError, nothing else is wrong.
func (a *Archive) compareEnd(ctx context.Context, source Source) error {
	end := a.end()
	head, err := source.Head(ctx)
	if err != nil {
		return err
	}
	switch {
	case head.LogID != a.logID:
		return fmt.Errorf("the log was replaced by log %s meanwhile", head.LogID)
	case end == nil && head.First > head.Begin:
		return contradiction("it holds nothing, and seq %d to %d of the log were archived before they were removed there", head.Begin, head.First-1)
	case end == nil:
		return nil
	case end.Partitions != head.Partitions:
		return contradiction("it has %d partitions, the log has %d", end.Partitions, head.Partitions)
	case end.Last > head.Last:
		return contradiction("it holds seq %d, but the log ends with seq %d", end.Last, head.Last)
	case end.Last+1 < head.First:
		return contradiction("it ends with seq %d, but the log begins with seq %d: what lies between them is lost", end.Last, head.First)
	case a.origin > head.Begin:
		return contradiction("it begins with seq %d, the log with seq %d", a.origin, head.Begin)
	case end.Last < head.First:
		return nil
	}
	return a.compareNewest(ctx, source, head)
}

// compareNewest compares the newest message that can be read with the same message of the log. If
// they are equal but a newer message is damaged, the error is the DamagedError.
func (a *Archive) compareNewest(ctx context.Context, source Source, head Head) error {
	var damage error
	for _, info := range slices.Backward(a.segments) {
		for seq := info.Last; seq >= max(info.First, head.First); {
			var archived fingerprint.Hash
			err := a.Read(ctx, seq, seq, func(r Record) error {
				archived = fingerprint.Leaf(r.Message())
				return nil
			})
			if damaged, is := errors.AsType[*DamagedError](err); is {
				damage, seq = cmp.Or(damage, err), min(seq, damaged.From)-1
				continue
			}
			if err != nil {
				return err
			}
			err = source.ReadRecords(ctx, seq, seq, func(r Record) error {
				if fingerprint.Leaf(r.Message()) != archived {
					return contradiction("seq %d of segment %s is another message in the log", r.Seq, info.Name)
				}
				return nil
			})
			return cmp.Or(err, damage)
		}
	}
	return damage
}

// Compared says which part of an archive was compared with the log.
type Compared struct {
	First    uint64 `json:"first_seq"` // 0 if nothing was compared
	Last     uint64 `json:"last_seq"`
	Segments int    `json:"segments"`
	Root     string `json:"root,omitempty"` // of the Merkle tree up to Last, in hexadecimal
}

// Compare reads the messages of the log, and compares their digests with what each segment says of
// its records: the chain value, which covers every byte, and the root. It reads no frame of the
// archive; Check does. It calls differs with each ContradictionError, and continues after that
// segment. A segment that the log does not have in full is left out. passed may be nil; it is
// called after each segment.
func (a *Archive) Compare(ctx context.Context, source Source, differs func(error), passed func(last uint64)) (out Compared, err error) {
	head, err := source.Head(ctx)
	if err != nil {
		return out, err
	}
	if head.LogID != a.logID {
		return out, contradiction("it is of log %s, and this is log %s", a.logID, head.LogID)
	}
	for _, info := range a.segments {
		if info.First < head.First || info.Last > head.Last {
			continue
		}
		fault, err := a.compareSegment(ctx, info, source)
		if err != nil {
			if now, away := source.Head(ctx); away != nil || info.First >= now.First {
				return out, err
			}
			out = Compared{} // the log was trimmed meanwhile
			continue
		}
		if fault != nil {
			differs(fault)
			continue
		}
		if out.Segments++; out.First == 0 {
			out.First = info.First
		}
		out.Last, out.Root = info.Last, fmt.Sprintf("%x", info.Root)
		if passed != nil {
			passed(info.Last)
		}
	}
	return out, nil
}

// compareSegment returns how the log's messages differ from a segment; nil if they do not.
func (a *Archive) compareSegment(ctx context.Context, info *Info, source Source) (fault, err error) {
	tree := a.treeBefore(info.First)
	if tree != nil {
		tree = tree.Clone()
	}
	return compareFrom(ctx, info, info.First, info.Before, tree, source)
}

// compareFrom is compareSegment from a sequence within the segment on. before is the chain value
// before this sequence. tree is the tree there, or nil if it is not known.
func compareFrom(ctx context.Context, info *Info, from uint64, before Hash, tree *fingerprint.Tree, source Source) (fault, err error) {
	chain := segment.NewChain(before)
	err = source.ReadRecords(ctx, from, info.Last, segment.WithBytes(func(r Record, bytes []byte) error {
		chain.Add(bytes)
		if tree != nil {
			tree.Append(fingerprint.Leaf(r.Message()))
		}
		return nil
	}))
	switch {
	case err != nil:
		return nil, err
	case chain.Value != info.After:
		return contradiction("the log's messages from seq %d to %d are others than in segment %s", from, info.Last, info.Name), nil
	case tree != nil && Hash(tree.Root()) != info.Root:
		return contradiction("the log's messages up to seq %d have another root than segment %s says", info.Last, info.Name), nil
	}
	return nil, nil
}

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
	wrong := func(fault error) { out.Faults = append(out.Faults, fault.Error()) }
	if err := asFault(RequireAlone(ctx, place, logID), wrong); err != nil {
		return nil, err
	}
	opened, err := Open(ctx, place, logID)
	if err != nil {
		return nil, err
	}
	if full {
		if err := opened.Check(ctx, wrong); err != nil {
			return nil, err
		}
	} else {
		for _, fault := range opened.Faults() {
			wrong(fault)
		}
	}
	if source == nil {
		return out, nil
	}
	if err := asFault(opened.compareEnd(ctx, source), wrong); err != nil {
		return nil, err
	}
	if err := opened.checkLag(ctx, source, wrong); err != nil {
		return nil, err
	}
	out.Compared, err = opened.Compare(ctx, source, wrong, nil)
	return out, err
}

// maxLag is how old a message may be that is not archived. It is far more than any interval of an archiver.
const maxLag = 24 * time.Hour

var errAgeKnown = errors.New("the age of a message is known")

// checkLag reports a fault if the archive lacks messages that an archiver would have archived long ago. If a clock was
// ahead, it takes the age of the first message that is not from the future. The messages before that are not newer.
func (a *Archive) checkLag(ctx context.Context, source Source, wrong func(error)) error {
	head, err := source.Head(ctx)
	if err != nil {
		return err
	}
	next := max(a.next(head), head.First)
	if next > head.Last {
		return nil
	}
	err = source.ReadRecords(ctx, next, head.Last, func(r Record) error {
		age := time.Since(r.StoredAt)
		if age < 0 {
			return nil
		}
		if age > maxLag {
			wrong(fmt.Errorf("it lacks seq %d to %d; seq %d was stored at %s", next, head.Last, r.Seq, r.StoredAt.UTC().Format(time.RFC3339)))
		}
		return errAgeKnown
	})
	if errors.Is(err, errAgeKnown) {
		return nil
	}
	return err
}

// asFault calls wrong with an error that is a fault of the archive, and returns any other error.
func asFault(err error, wrong func(error)) error {
	if isContradiction(err) || isDamage(err) || isGap(err) {
		wrong(err)
		return nil
	}
	return err
}
