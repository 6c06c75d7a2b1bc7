package archive

import (
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/payfold/payfold/internal/fingerprint"
)

// newEncoder returns the compressor of segments. The records have checksums of their own.
func newEncoder() *zstd.Encoder {
	encoder, _ := zstd.NewWriter(nil, // fails on other options only
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(frameBytes), zstd.WithLowerEncoderMem(true))
	return encoder
}

// writer writes one segment. After an error it must not be used any more.
type writer struct {
	to         io.Writer
	frameBytes int          // when a frame ends
	pause      func() error // is called after each frame
	encoder    *zstd.Encoder
	info       Info
	chain      *chain
	header     []byte
	offset     int64
	frame      entry  // that is being filled
	records    []byte // of it
	out        []byte // for the bytes of a frame
}

// start is where a segment begins.
type start struct {
	logID      string
	partitions int
	first      uint64
	before     Hash
	tree       *fingerprint.Tree // up to the record before first; it is not changed
}

func newWriter(to io.Writer, encoder *zstd.Encoder, s start) (*writer, error) {
	w := &writer{to: to, frameBytes: frameBytes, pause: func() error { return nil }, encoder: encoder, chain: newChain(s.before), info: Info{
		LogID: s.logID, Partitions: s.partitions, First: s.first, Last: s.first - 1, Before: s.before, tree: s.tree.Clone(),
	}}
	w.header = w.info.appendHeader(nil)
	return w, w.flush(w.header)
}

func (w *writer) flush(data []byte) error {
	n, err := w.to.Write(data)
	w.offset += int64(n)
	return err
}

// write appends the next record.
func (w *writer) write(r *Record) error {
	if r.Seq != w.info.Last+1 {
		return fmt.Errorf("archive seq %d after seq %d", r.Seq, w.info.Last)
	}
	at := len(w.records)
	records, err := appendRecord(w.records, r)
	if err != nil {
		return err
	}
	w.records = records
	w.chain.add(records[at:])
	w.info.tree.Append(fingerprint.Leaf(r.Message()))
	if w.info.Last < w.info.First {
		w.info.StoredFrom = r.StoredAt
	}
	w.info.Last, w.info.StoredTo = r.Seq, r.StoredAt
	w.info.Bytes += int64(len(records) - at)
	if w.frame.records == 0 {
		w.frame.first = r.Seq
	}
	w.frame.records++
	if len(records) < w.frameBytes {
		return nil
	}
	if err := w.endFrame(); err != nil {
		return err
	}
	return w.pause()
}

func (w *writer) endFrame() error {
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

// close ends a segment that has at least one record. It does not close the file.
func (w *writer) close() (Info, error) {
	if w.frame.records > 0 {
		if err := w.endFrame(); err != nil {
			return Info{}, err
		}
	}
	w.info.After, w.info.Root = w.chain.value, Hash(w.info.tree.Root())
	err := w.flush(w.info.appendFooter(nil, w.header))
	w.info.Size = w.offset
	return w.info, err
}
