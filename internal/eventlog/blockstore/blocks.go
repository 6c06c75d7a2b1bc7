package blockstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"math"
	"os"
	"sort"
	"strconv"

	"github.com/minio/highwayhash"
)

// ErrUnexpectedLayout means that the server's files are missing, not readable for this process, or
// in an unknown layout. Then only the server can deliver its messages.
var ErrUnexpectedLayout = errors.New("the log's files are not as expected")

// Read delivers the messages from sequence from to until from the server's blocks, in order
// and without gaps. The server may append further messages meanwhile. Read can fail with
// ErrUnexpectedLayout after any message.
func (s *Store) Read(from, until uint64, deliver func(Record) error) error {
	blocks, err := s.blocks()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnexpectedLayout, err)
	}
	// The last block that begins at or before from.
	at := sort.Search(len(blocks), func(i int) bool { return s.firstIn(blocks[i]) > from }) - 1
	next := from
	for _, block := range blocks[max(at, 0):] {
		for r, err := range s.records(block) {
			if errors.Is(err, ErrDamaged) {
				if r.Seq < next {
					continue
				}
				return fmt.Errorf("%s: %w", s.block(block), err)
			}
			if err != nil {
				return fmt.Errorf("%w: %s: %w", ErrUnexpectedLayout, s.block(block), err)
			}
			if r.tombstone || r.Seq < next {
				continue
			}
			if r.Seq != next {
				return fmt.Errorf("%w: seq %d instead of %d", ErrUnexpectedLayout, r.Seq, next)
			}
			if err := deliver(r); err != nil {
				return err
			}
			if next++; next > until {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: they end before seq %d", ErrUnexpectedLayout, next)
}

// firstIn returns the sequence of a block's first message; math.MaxUint64 if the block has
// no message.
func (s *Store) firstIn(block int) uint64 {
	for r, err := range s.records(block) {
		if (err == nil || errors.Is(err, ErrDamaged)) && !r.tombstone {
			return r.Seq
		}
	}
	return math.MaxUint64
}

// readSize is small enough for the cache of one core.
const readSize = 256 << 10

// records iterates over the records of a block. Each is valid until the next one is requested. An
// incomplete record at the end is ignored: the server is writing it. An error other than ErrDamaged
// ends the iteration.
func (s *Store) records(block int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		file, err := os.Open(s.block(block))
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer file.Close()
		checksum := s.checksum(block)
		buffer := make([]byte, readSize)
		var rest []byte // the incomplete record at the end of the buffer
		for {
			if len(rest) == len(buffer) {
				buffer = make([]byte, 2*len(rest))
			}
			n, err := io.ReadFull(file, buffer[copy(buffer, rest):])
			if n == 0 {
				if !errors.Is(err, io.EOF) {
					yield(Record{}, err)
				}
				return
			}
			rest = buffer[:len(rest)+n]
			for {
				r, size, err := parseRecord(rest, checksum)
				if size == 0 && err == nil {
					break
				}
				if !yield(r, err) || err != nil && !errors.Is(err, ErrDamaged) {
					return
				}
				rest = rest[size:]
			}
		}
	}
}

// checksum returns the server's hash for the records of a block.
func (s *Store) checksum(block int) hash.Hash64 {
	return checksumFor(s.stream + "-" + strconv.Itoa(block))
}

// checksumFor returns the server's hash for the block or the stream of this name.
func checksumFor(name string) hash.Hash64 {
	key := sha256.Sum256([]byte(name))
	checksum, _ := highwayhash.New64(key[:]) // fails on keys of another length
	return checksum
}

// Record is one message as the server stores it, little-endian:
//
//	length of all 4, its highest bit: has a header | seq 8 | time in ns 8 | length of the subject 2 |
//	subject | with a header: its length 4, the header | body | checksum 8
type Record struct {
	Seq                   uint64
	Stored                int64  // ns since 1970
	Subject, Header, Body []byte // valid until the next record is read
	tombstone             bool   // a mark that messages up to Seq are gone, and no message
}

const (
	fixedLength    = 4 + 8 + 8 + 2
	checksumLength = 8
	maxRecord      = 32 << 20 // the server's own limit

	hasHeader   = 1 << 31 // of the length
	isTombstone = 1 << 62 // of the sequence
	isErased    = 1 << 63 // of the sequence
)

var (
	errRecord = errors.New("a record is invalid")
	errErased = errors.New("the server has erased the message")
	// ErrDamaged means that the header's length in a record is wrong. The checksum covers
	// everything except this length. The server would deliver a wrong header and a wrong body,
	// without an error.
	ErrDamaged = errors.New("the length of a message's header is damaged")
)

// headerEnd is the end of every header. It occurs nowhere else in a header.
var headerEnd = []byte("\r\n\r\n")

// parseRecord reads the first record in data. size is 0 if data ends within the record, or, with an
// error, if no valid record begins here. A complete record that must not be used has a size and an
// error.
func parseRecord(data []byte, checksum hash.Hash64) (r Record, size int, err error) {
	if len(data) < fixedLength {
		return Record{}, 0, nil
	}
	le := binary.LittleEndian
	length, subject := le.Uint32(data), int(le.Uint16(data[20:]))
	size = int(length &^ hasHeader)
	if size > maxRecord || size < fixedLength+subject+checksumLength {
		return Record{}, 0, errRecord
	}
	if len(data) < size {
		return Record{}, 0, nil
	}
	r = Record{Seq: le.Uint64(data[4:]), Stored: int64(le.Uint64(data[12:]))}
	rest, sum := data[fixedLength:size-checksumLength], data[size-checksumLength:size]
	r.Subject, r.Body = rest[:subject:subject], rest[subject:len(rest):len(rest)]
	header := uint32(0)
	if length&hasHeader != 0 {
		if len(r.Body) < 4 {
			return Record{}, 0, errRecord
		}
		header, r.Body = le.Uint32(r.Body), r.Body[4:]
	}
	checksum.Reset()
	for _, part := range [][]byte{data[4:20], r.Subject, r.Body} {
		_, _ = checksum.Write(part) // never fails
	}
	if checksum.Sum64() != le.Uint64(sum) {
		return Record{}, 0, errRecord
	}
	if r.Seq&isErased != 0 {
		return r, size, errErased
	}
	if length&hasHeader != 0 {
		end := bytes.Index(r.Body, headerEnd) + len(headerEnd)
		if end < len(headerEnd) {
			return r, size, fmt.Errorf("%w: seq %d", ErrDamaged, r.Seq)
		}
		if header != uint32(end) {
			err = fmt.Errorf("%w: seq %d", ErrDamaged, r.Seq)
		}
		r.Header, r.Body = r.Body[:end:end], r.Body[end:]
	}
	r.tombstone = r.Seq&isTombstone != 0
	return r, size, err
}
