package segment

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash/crc32"

	"github.com/payfold/payfold/internal/archive/storage"
)

// Remains is what can still be read of a segment without a whole header and footer.
type Remains struct {
	Last    uint64          // the greatest sequence that the heads of its frames name; 0 if there is none
	Records map[uint64]Hash // SHA-256 of the bytes of each record in a whole frame
	Unclear bool            // it has bytes that may be records but cannot be read
}

var frameHead = appendSkippable(nil, frameMagic, entryLength)

// maxRemains is more than any segment has: 64 MB of records, the longest record and the footer. A damaged
// file system can give a file any length.
const maxRemains = 160 << 20

// ReadRemains finds the frames of a segment without its footer. It needs memory for all of its
// bytes, and reads at most maxRemains of them.
func ReadRemains(name string, object storage.Object) (*Remains, error) {
	data := make([]byte, min(object.Size(), maxRemains))
	if err := readAt(object, data, 0); err != nil {
		return nil, fmt.Errorf("segment %s: %w", name, err)
	}
	next, _, _ := ParseName(name) // the sequence that follows, if nothing before is lost
	r := &Remains{Records: map[uint64]Hash{}}
	accounted := headerLength // up to here every byte is that of a header or a frame
	for at := min(len(data), headerLength); ; {
		found := bytes.Index(data[at:], frameHead)
		if found < 0 {
			break
		}
		begin := at + found
		at = begin + skippable
		if len(data)-at < entryLength {
			break
		}
		e := parseEntry(data[at:])
		end := at + entryLength + int(e.compressed)
		intact := end <= len(data) && crc32.Checksum(data[at+entryLength:end], castagnoli) == e.checksum
		whole := intact && e.first >= next && r.add(e, data[at+entryLength:end])
		const least = recordLength + recordFixed // of a record
		if !whole && (intact || e.first != next || e.records == 0 || e.size > maxFrame || uint64(e.records)*least > uint64(e.size)) {
			continue // the head is damaged, too
		}
		r.skip(data, accounted, begin)
		r.Last, next = e.last(), e.last()+1
		if accounted = end; whole {
			at = end
		}
	}
	if !isFooter(data, accounted) {
		r.skip(data, accounted, len(data))
	}
	r.Unclear = r.Unclear || int64(len(data)) < object.Size()
	return r, nil
}

// Contradicts reports whether the segment's record with this sequence has other bytes. It reports false if that record
// cannot be read.
func (r *Remains) Contradicts(seq uint64, record []byte) bool {
	hash, readable := r.Records[seq]
	return readable && hash != sha256.Sum256(record)
}

// skip notes bytes in which no frame begins. It ignores zeros, which a file system leaves for bytes
// that were never written.
func (r *Remains) skip(data []byte, from, to int) {
	if from < to && len(bytes.Trim(data[from:to], "\x00")) > 0 {
		r.Unclear = true
	}
}

// add takes the records of a frame whose checksum matches, if its head says the same of them.
func (r *Remains) add(e entry, compressed []byte) bool {
	if e.records == 0 || e.size > maxFrame {
		return false
	}
	d, err := newDecoder()
	if err != nil {
		return false
	}
	defer d.release()
	d.buffer, err = d.DecodeAll(compressed, d.buffer[:0])
	if err != nil || len(d.buffer) != int(e.size) {
		return false
	}
	hashes, records := make([]Hash, 0, min(e.records, e.size/(recordLength+recordFixed))), d.buffer
	for range e.records {
		record, size, err := parseRecord(records, nil)
		if err != nil || record.Seq != e.first+uint64(len(hashes)) {
			return false
		}
		hashes = append(hashes, sha256.Sum256(records[:size]))
		records = records[size:]
	}
	for i, hash := range hashes {
		r.Records[e.first+uint64(i)] = hash
	}
	return len(records) == 0
}

// isFooter reports whether the footer begins at this offset. One part of it may be damaged, or its
// end may be missing.
func isFooter(data []byte, at int) bool {
	rest := len(data) - at
	if rest < skippable+entryLength {
		return true // too little for a frame
	}
	length := int64(le.Uint32(data[at+4:]))
	if length == int64(rest-skippable) || le.Uint32(data[at:]) == footerMagic && length >= footerFixed-skippable {
		return true
	}
	size, err := footerSize(data)
	return err == nil && size == int64(rest)
}
