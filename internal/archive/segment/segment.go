package segment

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
)

// DamagedError means that bytes of a segment are not those that were written. Records outside of
// the named frame can still be read.
type DamagedError struct {
	Segment string
	Frame   int    // from 1; 0 if it is the header or the footer
	From    uint64 // the first sequence of the frame; of the segment if Frame is 0
	To      uint64 // the last one; 0 if it is not known
	Reason  string
}

func (e *DamagedError) Error() string {
	if e.Frame == 0 {
		return fmt.Sprintf("segment %s, from seq %d on, is damaged: %s", e.Segment, e.From, e.Reason)
	}
	return fmt.Sprintf("segment %s is damaged in frame %d, seq %d to %d: %s", e.Segment, e.Frame, e.From, e.To, e.Reason)
}

// Segment is an open segment whose header and footer are whole.
type Segment struct {
	*Info
	object storage.Object
	space  []events.Header // of the record that is delivered
}

// tailBytes is read first. It holds the whole footer of a segment of usual size, and all of a
// small segment.
const tailBytes = 64 << 10

// Open reads header and footer. name is the segment's name within its folder. On success the
// Segment owns the object. Otherwise Open closes it.
func Open(name string, object storage.Object) (*Segment, error) {
	info, err := readInfo(name, object)
	if err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return Known(info, object), nil
}

// Known opens a segment whose header and footer were read before.
func Known(info *Info, object storage.Object) *Segment {
	return &Segment{info, object, make([]events.Header, 0, usualHeaders)}
}

func readInfo(name string, object storage.Object) (*Info, error) {
	first, last, _ := ParseName(name)
	damaged := func(reason error) error {
		return &DamagedError{Segment: name, From: first, Reason: reason.Error()}
	}
	size := object.Size()
	if size < headerLength+footerFixed {
		return nil, damaged(fmt.Errorf("it has %d bytes", size))
	}
	tail := make([]byte, min(size, tailBytes))
	if err := readAt(object, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	footerLength, err := footerSize(tail)
	if err == nil && footerLength > size-headerLength {
		err = errFooter
	}
	if err != nil {
		return nil, damaged(err)
	}
	if footerLength > int64(len(tail)) {
		tail = make([]byte, footerLength)
		if err := readAt(object, tail, size-footerLength); err != nil {
			return nil, err
		}
	}
	header := tail[:min(len(tail), headerLength)]
	if int64(len(tail)) < size {
		header = make([]byte, headerLength)
		if err := readAt(object, header, 0); err != nil {
			return nil, err
		}
	}
	info := &Info{Name: name, Size: size}
	err = info.parseHeader(header)
	if err == nil {
		err = info.parseFooter(header, tail[int64(len(tail))-footerLength:], size-footerLength)
	}
	if err == nil && (info.First != first || last != 0 && info.Last != last) {
		err = fmt.Errorf("it holds seq %d to %d", info.First, info.Last)
	}
	if err != nil {
		return nil, damaged(err)
	}
	return info, nil
}

// readAt fills data.
func readAt(object storage.Object, data []byte, offset int64) error {
	n, err := object.ReadAt(data, offset)
	if n == len(data) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at %d: %w", len(data), offset, err)
}

// Close closes the object.
func (s *Segment) Close() error { return s.object.Close() }

// Check reads the whole segment and compares it with what its header and footer say. before is
// the tree up to the record before the segment; nil if it is not known. passed is called with
// each record's chain value.
func (s *Segment) Check(ctx context.Context, before *fingerprint.Tree, passed func(seq uint64, value Hash)) error {
	chain := NewChain(s.Before)
	tree := new(fingerprint.Tree)
	if before != nil {
		tree = before.Clone()
	}
	err := s.readBytes(ctx, s.First, s.Last, func(r Record, data []byte) error {
		chain.Add(data)
		if before != nil {
			tree.Append(fingerprint.Leaf(r.Message()))
		}
		if passed != nil {
			passed(r.Seq, chain.Value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if chain.Value != s.After {
		return &DamagedError{Segment: s.Name, From: s.First, Reason: "its records have another chain value than its footer says"}
	}
	if before != nil && Hash(tree.Root()) != s.Root {
		return &DamagedError{Segment: s.Name, From: s.First, Reason: "its records have another root than its footer says"}
	}
	return nil
}
