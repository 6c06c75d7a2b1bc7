package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/archive/segment"
)

// readRemains finds out how far the damaged segments of an open gap reach, and which records can
// still be read there. It fails with a ContradictionError if the log has another message before
// the gap than the archive.
func (a *Archiver) readRemains(ctx context.Context, g *gap, head Head) error {
	if b := g.before; b != nil && head.First <= b.Last && b.Last <= head.Last {
		if err := a.archive.sameRecord(ctx, b.Last, a.Source); err != nil {
			return err
		}
	}
	g.remains = map[string]*segment.Remains{}
	for _, c := range a.archive.names {
		if c.first < g.first {
			continue
		}
		reach, remains, err := a.archive.reachOf(ctx, c)
		if err != nil {
			return err
		}
		g.last = max(g.last, reach)
		if remains != nil {
			g.remains[c.name] = remains
		}
	}
	return nil
}

// holdsMore returns why a damaged segment without a whole footer may hold messages that no other
// one holds; empty if it does not. It fails with a ContradictionError if it holds other records
// than they do.
func (a *Archiver) holdsMore(ctx context.Context, c candidate) (reason string, err error) {
	remains, err := a.archive.remainsOf(ctx, c.name)
	if err != nil {
		return "", err
	}
	c.last = max(c.first, c.last, remains.Last)
	within := a.archive.covers(c)
	if len(within) == 0 {
		return fmt.Sprintf("reaches to seq %d, which is in no other one", c.last), nil
	}
	if len(remains.Records) > 0 {
		err := a.archive.Read(ctx, c.first, c.last, segment.WithBytes(func(r Record, bytes []byte) error {
			if remains.Contradicts(r.Seq, bytes) {
				return contradiction("seq %d of segment %s, which is damaged, is another message in other segments", r.Seq, c.name)
			}
			return nil
		}))
		if isDamage(err) {
			return "so is another one that holds the same", nil
		}
		if err != nil {
			return "", err
		}
	}
	if remains.Unclear {
		return "not all of it can be read: it may hold more than others do", nil
	}
	return "", nil
}

// reachOf returns the last sequence that a damaged segment is known to hold. It also returns what
// remains of the segment, if it has no whole header and footer.
func (a *Archive) reachOf(ctx context.Context, c candidate) (reach uint64, remains *segment.Remains, err error) {
	reach = max(c.first, c.last)
	info, err := a.open(ctx, c.name)
	if err == nil {
		return max(reach, info.Last), nil, nil
	}
	if !isDamage(err) {
		return 0, nil, err
	}
	if remains, err = a.remainsOf(ctx, c.name); err != nil {
		return 0, nil, err
	}
	return max(reach, remains.Last), remains, nil
}

// remainsOf reads a segment without a whole header and footer.
func (a *Archive) remainsOf(ctx context.Context, name string) (out *segment.Remains, err error) {
	object, err := a.place.Open(ctx, a.logID+"/"+name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	return segment.ReadRemains(name, object)
}

// sameRecord returns a ContradictionError if a record is another one in the log.
func (a *Archive) sameRecord(ctx context.Context, seq uint64, source Source) error {
	var archived []byte
	err := a.Read(ctx, seq, seq, segment.WithBytes(func(_ Record, record []byte) error {
		archived = bytes.Clone(record)
		return nil
	}))
	if err != nil {
		return err
	}
	return source.ReadRecords(ctx, seq, seq, segment.WithBytes(func(_ Record, record []byte) error {
		if !bytes.Equal(archived, record) {
			return contradiction("seq %d is another message in the log", seq)
		}
		return nil
	}))
}
