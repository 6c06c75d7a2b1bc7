package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/payfold/payfold/internal/archive/segment"
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

// compareNewest is SameNewest for a Source. If nothing else is wrong, the error is the damage.
func (a *Archive) compareNewest(ctx context.Context, source Source, head Head) error {
	damage, err := a.SameNewest(ctx, head.First, head.Last, func(seq uint64) (leaf fingerprint.Hash, err error) {
		err = source.ReadRecords(ctx, seq, seq, func(r Record) error {
			leaf = fingerprint.Leaf(r.Message())
			return nil
		})
		return leaf, err
	})
	return cmp.Or(err, damage)
}

// SameNewest compares the newest message that can be read with the same message of the log, which has the messages from
// first to last. inLog returns the leaf of one of them. The error is a ContradictionError if they differ. damage is a
// DamagedError if newer messages are damaged in the archive. It is also the error if no message could be compared.
func (a *Archive) SameNewest(
	ctx context.Context, first, last uint64, inLog func(seq uint64) (fingerprint.Hash, error),
) (damage, err error) {
	for _, info := range slices.Backward(a.segments) {
		for seq := min(info.Last, last); seq >= max(info.First, first); {
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
				return nil, err
			}
			leaf, err := inLog(seq)
			if err == nil && leaf != archived {
				err = contradiction("seq %d of segment %s is another message in the log", seq, info.Name)
			}
			return damage, err
		}
	}
	return damage, damage
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
