package segment

import (
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/payfold/payfold/internal/fingerprint"
)

// NewEncoder returns the compressor of segments. It writes no checksums, because each frame has one
// in its entry.
func NewEncoder() *zstd.Encoder {
	encoder, _ := zstd.NewWriter(nil, // fails on other options only
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(FrameBytes), zstd.WithLowerEncoderMem(true))
	return encoder
}

// Writer writes one segment. After an error it must not be used any more.
type Writer struct {
	FrameBytes int          // when a frame ends
	Pause      func() error // is called after each frame

	to      io.Writer
	encoder *zstd.Encoder
	info    Info
	chain   *Chain
	header  []byte
	offset  int64
	frame   entry  // the frame that is being filled
	records []byte // of the frame
	out     []byte // for the bytes of a frame
}

// Start is where a segment begins.
type Start struct {
	LogID      string
	Partitions int
	First      uint64
	Before     Hash              // the chain value before First
	Tree       *fingerprint.Tree // up to the record before First; it is not changed
}

// NewWriter writes the header. The encoder is used until Close.
func NewWriter(to io.Writer, encoder *zstd.Encoder, s Start) (*Writer, error) {
	w := &Writer{to: to, FrameBytes: FrameBytes, Pause: func() error { return nil }, encoder: encoder, chain: NewChain(s.Before), info: Info{
		LogID: s.LogID, Partitions: s.Partitions, First: s.First, Last: s.First - 1, Before: s.Before, Tree: s.Tree.Clone(),
	}}
	w.header = w.info.appendHeader(nil)
	return w, w.flush(w.header)
}

func (w *Writer) flush(data []byte) error {
	n, err := w.to.Write(data)
	w.offset += int64(n)
	return err
}

// Write appends the next record.
func (w *Writer) Write(r *Record) error {
	if r.Seq != w.info.Last+1 {
		return fmt.Errorf("archive seq %d after seq %d", r.Seq, w.info.Last)
	}
	at := len(w.records)
	records, err := appendRecord(w.records, r)
	if err != nil {
		return err
	}
	w.records = records
	w.chain.Add(records[at:])
	w.info.Tree.Append(fingerprint.Leaf(r.Message()))
	if w.info.Last < w.info.First {
		w.info.StoredFrom = r.StoredAt
	}
	w.info.Last, w.info.StoredTo = r.Seq, r.StoredAt
	w.info.Bytes += int64(len(records) - at)
	if w.frame.records == 0 {
		w.frame.first = r.Seq
	}
	w.frame.records++
	if len(records) < w.FrameBytes {
		return nil
	}
	if err := w.endFrame(); err != nil {
		return err
	}
	return w.Pause()
}

func (w *Writer) endFrame() error {
	const head = skippable + entryLength
	w.out = w.encoder.EncodeAll(w.records, append(w.out[:0], make([]byte, head)...))
	compressed := w.out[head:]
	w.frame.size, w.frame.compressed = uint32(len(w.records)), uint32(len(compressed))
	w.frame.checksum = crc32.Checksum(compressed, castagnoli)
	w.frame.append(appendSkippable(w.out[:0], frameMagic, entryLength))
	w.info.index = append(w.info.index, frame{offset: w.offset + head, entry: w.frame})
	w.frame, w.records = entry{}, w.records[:0]
	return w.flush(w.out)
}

// Bytes is how many bytes of records were written.
func (w *Writer) Bytes() int64 { return w.info.Bytes }

// Close ends a segment that has at least one record. It does not close the file.
func (w *Writer) Close() (Info, error) {
	if w.frame.records > 0 {
		if err := w.endFrame(); err != nil {
			return Info{}, err
		}
	}
	w.info.After, w.info.Root = w.chain.Value, Hash(w.info.Tree.Root())
	err := w.flush(w.info.appendFooter(nil, w.header))
	w.info.Size = w.offset
	return w.info, err
}
