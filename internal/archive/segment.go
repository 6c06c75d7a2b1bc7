package archive

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/fingerprint"
)

// DamagedError: bytes of a segment are not those that were written. What is outside of the
// frame that it names can still be read.
type DamagedError struct {
	Segment string
	Frame   int    // from 1; 0 if it is the header or the footer
	From    uint64 // the first sequence of the frame; of the segment if Frame is 0
	To      uint64 // the last one; 0 if it is not known
	Reason  string
}

func (e *DamagedError) Error() string {
	switch {
	case e.Frame == 0:
		return fmt.Sprintf("segment %s, from seq %d on, is damaged: %s", e.Segment, e.From, e.Reason)
	default:
		return fmt.Sprintf("segment %s is damaged in frame %d, seq %d to %d: %s", e.Segment, e.Frame, e.From, e.To, e.Reason)
	}
}

// segment is an open segment whose header and footer are whole.
type segment struct {
	*Info
	object storage.Object
}

// tailBytes is read first. It holds the whole footer of a segment of usual size, and all of a
// small segment.
const tailBytes = 64 << 10

// openSegment reads header and footer. name is that of the segment within its folder. On
// success it owns the object, and closes it otherwise.
func openSegment(name string, object storage.Object) (*segment, error) {
	info, err := readInfo(name, object)
	if err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return &segment{Info: info, object: object}, nil
}

func readInfo(name string, object storage.Object) (*Info, error) {
	first, last, _ := parseName(name)
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

func (s *segment) close() error { return s.object.Close() }

// readAhead is how many bytes of frames are read at once: a request to an object store takes
// as long as the transfer of so many.
const readAhead = 4 << 20

// read delivers the records from sequence from to until, both within the segment, in order.
func (s *segment) read(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return s.readBytes(ctx, from, until, func(r Record, _ []byte) error { return deliver(r) })
}

// readBytes also delivers each record's bytes, which are valid as long as its body.
func (s *segment) readBytes(ctx context.Context, from, until uint64, deliver func(Record, []byte) error) error {
	begin := 0
	for s.index[begin].last() < from {
		begin++
	}
	for begin < len(s.index) && s.index[begin].first <= until {
		end, size := begin, int64(0)
		for end < len(s.index) && s.index[end].first <= until && (end == begin || size < readAhead) {
			size += skippable + entryLength + int64(s.index[end].compressed)
			end++
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data := make([]byte, size)
		if err := readAt(s.object, data, s.index[begin].offset-skippable-entryLength); err != nil {
			return err
		}
		for ; begin < end; begin++ {
			length := skippable + entryLength + int(s.index[begin].compressed)
			if err := s.readFrame(begin, data[:length], from, until, deliver); err != nil {
				return err
			}
			data = data[length:]
		}
	}
	return nil
}

// readFrame delivers the records of one frame.
func (s *segment) readFrame(n int, data []byte, from, until uint64, deliver func(Record, []byte) error) error {
	f := s.index[n]
	damaged := func(reason string) error {
		return &DamagedError{Segment: s.Name, Frame: n + 1, From: f.first, To: f.last(), Reason: reason}
	}
	if !isSkippable(data, frameMagic, entryLength) || parseEntry(data[skippable:]) != f.entry {
		return damaged("its head is not what the footer says")
	}
	data = data[skippable+entryLength:]
	if crc32.Checksum(data, castagnoli) != f.checksum {
		return damaged("its checksum is another")
	}
	d, err := newDecoder()
	if err != nil {
		return err
	}
	defer d.release()
	records, err := d.DecodeAll(data, d.buffer[:0])
	if err != nil || len(records) != int(f.size) {
		return damaged("it cannot be decompressed")
	}
	d.buffer = records
	for seq := f.first; seq <= f.last(); seq++ {
		r, size, err := parseRecord(records)
		if err != nil || r.Seq != seq {
			return damaged(fmt.Sprintf("seq %d is not there", seq))
		}
		if seq >= from && seq <= until {
			if err := deliver(r, records[:size]); err != nil {
				return err
			}
		}
		records = records[size:]
	}
	if len(records) > 0 {
		return damaged("bytes are left after its last record")
	}
	return nil
}

// decoder is a zstd decoder with a buffer.
type decoder struct {
	*zstd.Decoder
	buffer []byte
}

var decoders sync.Pool

func newDecoder() (*decoder, error) {
	if d, ok := decoders.Get().(*decoder); ok {
		return d, nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxFrame))
	return &decoder{Decoder: d}, err
}

// maxKept bounds the buffer that a decoder keeps.
const maxKept = 4 * frameBytes

func (d *decoder) release() {
	if cap(d.buffer) <= maxKept {
		decoders.Put(d)
	}
}

// check reads the whole segment and compares it with what its header and footer say. before is
// the tree up to the record before the segment; nil if it is not known. passed is called with
// each record's chain value.
func (s *segment) check(ctx context.Context, before *fingerprint.Tree, passed func(seq uint64, value Hash)) error {
	chain := newChain(s.Before)
	tree := new(fingerprint.Tree)
	if before != nil {
		tree = before.Clone()
	}
	err := s.readBytes(ctx, s.First, s.Last, func(r Record, data []byte) error {
		chain.add(data)
		if before != nil {
			tree.Append(fingerprint.Leaf(r.Message()))
		}
		if passed != nil {
			passed(r.Seq, chain.value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if chain.value != s.After {
		return &DamagedError{Segment: s.Name, From: s.First, Reason: "its records have another chain value than its footer says"}
	}
	if before != nil && Hash(tree.Root()) != s.Root {
		return &DamagedError{Segment: s.Name, From: s.First, Reason: "its records have another root than its footer says"}
	}
	return nil
}
