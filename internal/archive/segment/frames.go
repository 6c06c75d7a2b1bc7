package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/payfold/payfold/internal/events"
)

// Frames are read and decompressed ahead of their records' delivery, in goroutines of their own:
//
//	object ──fetch──▶ bytes of some frames ──decode──▶ records of a frame ──readBytes──▶ deliver
const (
	// fetchBytes is how many bytes of frames are read at once. A request to an object store takes
	// as long as the transfer of this many.
	fetchBytes = 4 << 20

	// framesAhead is how many decompressed frames may wait. One would be enough if both sides were
	// always equally fast.
	framesAhead = 2
)

// Read delivers the records from sequence from to until, both within the segment, in order.
func (s *Segment) Read(ctx context.Context, from, until uint64, deliver func(Record) error) error {
	return s.readBytes(ctx, from, until, func(r Record, _ []byte) error { return deliver(r) })
}

// readBytes also delivers each record's bytes, which are valid as long as its body. When it
// returns, nothing reads the object any more.
func (s *Segment) readBytes(ctx context.Context, from, until uint64, deliver func(Record, []byte) error) error {
	var ahead sync.WaitGroup
	defer ahead.Wait()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	bytes, frames := make(chan fetched), make(chan decoded, framesAhead)
	ahead.Go(func() { defer close(bytes); s.fetch(reading, from, until, bytes) })
	ahead.Go(func() { defer close(frames); s.decode(reading, bytes, frames) })
	for f := range frames {
		if f.err != nil {
			return f.err
		}
		if err := s.deliverFrame(f, from, until, deliver); err != nil {
			return err
		}
		release(f.records)
		if s.index[f.frame].last() >= until {
			return nil
		}
	}
	return ctx.Err()
}

// fetched is the bytes of consecutive frames, from begin on and before end.
type fetched struct {
	begin, end int
	data       []byte
	err        error
}

// fetch reads the frames that hold the records from sequence from to until. It ends after an
// error, and when ctx does.
func (s *Segment) fetch(ctx context.Context, from, until uint64, to chan<- fetched) {
	f := fetched{}
	for s.index[f.end].last() < from {
		f.end++
	}
	for f.err == nil && f.end < len(s.index) && s.index[f.end].first <= until {
		size := int64(0)
		for f.begin = f.end; f.end < len(s.index) && s.index[f.end].first <= until && (f.end == f.begin || size < fetchBytes); f.end++ {
			size += skippable + entryLength + int64(s.index[f.end].compressed)
		}
		f.data = make([]byte, size)
		f.err = readAt(s.object, f.data, s.index[f.begin].offset-skippable-entryLength)
		select {
		case to <- f:
		case <-ctx.Done():
			return
		}
	}
}

// decoded is one frame of records, as it was written.
type decoded struct {
	frame   int
	records []byte // a buffer for release
	err     error
}

// decode checks and decompresses frames. It ends after an error, and when ctx does.
func (s *Segment) decode(ctx context.Context, from <-chan fetched, to chan<- decoded) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxFrame))
	for f := range from {
		for frame := f.begin; frame < f.end; frame++ {
			out := decoded{frame: frame, err: cmp.Or(err, f.err)}
			if out.err == nil {
				length := skippable + entryLength + int(s.index[frame].compressed)
				out.records, out.err = s.decompress(decoder, frame, f.data[:length])
				f.data = f.data[length:]
			}
			select {
			case to <- out:
			case <-ctx.Done():
				return
			}
			if out.err != nil {
				return
			}
		}
	}
}

func (s *Segment) damagedFrame(n int, reason string) error {
	return &DamagedError{Segment: s.Name, Frame: n + 1, From: s.index[n].first, To: s.index[n].last(), Reason: reason}
}

// decompress returns the records of a frame, in a buffer for release.
func (s *Segment) decompress(decoder *zstd.Decoder, n int, data []byte) ([]byte, error) {
	f := s.index[n]
	if !isSkippable(data, frameMagic, entryLength) || parseEntry(data[skippable:]) != f.entry {
		return nil, s.damagedFrame(n, "its head is not what the footer says")
	}
	data = data[skippable+entryLength:]
	if crc32.Checksum(data, castagnoli) != f.checksum {
		return nil, s.damagedFrame(n, "its checksum does not match")
	}
	records, err := decoder.DecodeAll(data, newBuffer())
	if err != nil || len(records) != int(f.size) {
		return nil, s.damagedFrame(n, "it cannot be decompressed")
	}
	return records, nil
}

// deliverFrame delivers the records of one frame that are wanted.
func (s *Segment) deliverFrame(d decoded, from, until uint64, deliver func(Record, []byte) error) error {
	f, records := s.index[d.frame], d.records
	for seq := f.first; seq <= f.last(); seq++ {
		r, size, err := parseRecord(records, s.space)
		if errors.Is(err, events.ErrForm) { // a newer build wrote it
			return fmt.Errorf("segment %s, seq %d: %w", s.Name, seq, err)
		}
		if err != nil || r.Seq != seq {
			return s.damagedFrame(d.frame, fmt.Sprintf("seq %d is not there", seq))
		}
		if seq >= from && seq <= until {
			if err := deliver(r, records[:size]); err != nil {
				return err
			}
		}
		records = records[size:]
	}
	if len(records) > 0 {
		return s.damagedFrame(d.frame, "bytes are left after its last record")
	}
	return nil
}

// buffers are of frames that were delivered.
var buffers sync.Pool

func newBuffer() []byte {
	if buffer, ok := buffers.Get().(*[]byte); ok {
		return (*buffer)[:0]
	}
	return nil
}

// maxKept bounds the buffers that are kept.
const maxKept = 4 * FrameBytes

func release(buffer []byte) {
	if cap(buffer) <= maxKept {
		buffers.Put(&buffer)
	}
}
