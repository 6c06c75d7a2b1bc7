package eventlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/events"
)

// errUnlike: the server's files are not there, not for us to read, or not as this
// package knows them. What is in them is the server's to say, then.
var errUnlike = errors.New("the log's files are not as expected")

// read delivers the messages from sequence from to until out of the server's
// blocks, in order and without gaps, while the server goes on writing behind them.
// It may end with errUnlike after any message.
func (s *store) read(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	blocks, err := s.blocks()
	if err != nil {
		return fmt.Errorf("%w: %w", errUnlike, err)
	}
	slices.Sort(blocks)
	// The last block that begins at or before from.
	at := sort.Search(len(blocks), func(i int) bool { return s.begin(blocks[i]) > from }) - 1
	next := from
	for _, block := range blocks[max(at, 0):] {
		for r, err := range s.records(block) {
			if errors.Is(err, errDamaged) {
				return fmt.Errorf("%s: %w", s.block(block), err)
			}
			if err != nil {
				return fmt.Errorf("%w: %s: %w", errUnlike, s.block(block), err)
			}
			if r.note || r.seq < next {
				continue
			}
			m, err := r.message()
			if err != nil || r.seq != next {
				return fmt.Errorf("%w: seq %d where %d should be: %v", errUnlike, r.seq, next, err)
			}
			if ctx.Err() != nil {
				return whyEnded(ctx)
			}
			if err := deliver(m); err != nil {
				return err
			}
			if next++; next > until {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: they end before seq %d", errUnlike, next)
}

// begin is the sequence of a block's first message, and the greatest there is for
// a block without any.
func (s *store) begin(block int) uint64 {
	for r, err := range s.records(block) {
		if err == nil && !r.note {
			return r.seq
		}
	}
	return math.MaxUint64
}

// readAtOnce is little enough to stay in a core's cache.
const readAtOnce = 256 << 10

// records returns what a block holds, each until the next is asked for. Half a record
// at its end is being written.
func (s *store) records(block int) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		file, err := os.Open(s.block(block))
		if err != nil {
			yield(record{}, err)
			return
		}
		defer file.Close()
		checksum := s.checksum(block)
		buffer := make([]byte, readAtOnce)
		var rest []byte // of the buffer: half a record
		for {
			if len(rest) == len(buffer) {
				buffer = make([]byte, 2*len(rest))
			}
			n, err := io.ReadFull(file, buffer[copy(buffer, rest):])
			if n == 0 {
				if !errors.Is(err, io.EOF) {
					yield(record{}, err)
				}
				return
			}
			rest = buffer[:len(rest)+n]
			for {
				r, size, err := parseRecord(rest, checksum)
				if size == 0 && err == nil {
					break
				}
				if !yield(r, err) || err != nil {
					return
				}
				rest = rest[size:]
			}
		}
	}
}

// checksum is the server's: keyed by the block's name.
func (s *store) checksum(block int) hash.Hash64 {
	key := sha256.Sum256([]byte(s.stream + "-" + strconv.Itoa(block)))
	checksum, _ := highwayhash.New64(key[:]) // fails on keys of another length
	return checksum
}

// record is one message as the server stores it, little-endian:
//
//	length of all 4, its highest bit: has a header | seq 8 | time in ns 8 | length of the subject 2 |
//	subject | with a header: its length 4, the header | body | checksum 8
type record struct {
	seq                   uint64
	stored                int64
	subject, header, body []byte // of the block; valid until the next record is read
	note                  bool   // no message: the server remembers what is not there
}

const (
	fixedLength    = 4 + 8 + 8 + 2
	checksumLength = 8
	maxRecord      = 32 << 20 // the server's own limit

	hasHeader = 1 << 31 // of the length
	isNote    = 1 << 62 // of the sequence
	isErased  = 1 << 63 // of the sequence
)

var (
	errRecord = errors.New("a record is not what it should be")
	// errDamaged: of all lengths only the header's is not in the checksum. The server
	// would not notice, and move the border between header and body.
	errDamaged = errors.New("the length of a message's header is damaged")
)

// headerEnd is the end of every header, and nowhere else in it.
var headerEnd = []byte("\r\n\r\n")

// parseRecord reads the first record in data. Its size is 0 where data ends within it.
func parseRecord(data []byte, checksum hash.Hash64) (r record, size int, err error) {
	if len(data) < fixedLength {
		return record{}, 0, nil
	}
	le := binary.LittleEndian
	length, subject := le.Uint32(data), int(le.Uint16(data[20:]))
	size = int(length &^ hasHeader)
	if size > maxRecord || size < fixedLength+subject+checksumLength {
		return record{}, 0, errRecord
	}
	if len(data) < size {
		return record{}, 0, nil
	}
	r = record{seq: le.Uint64(data[4:]), stored: int64(le.Uint64(data[12:]))}
	rest, sum := data[fixedLength:size-checksumLength], data[size-checksumLength:size]
	r.subject, r.body = rest[:subject:subject], rest[subject:len(rest):len(rest)]
	header := uint32(0)
	if length&hasHeader != 0 {
		if len(r.body) < 4 {
			return record{}, 0, errRecord
		}
		header, r.body = le.Uint32(r.body), r.body[4:]
	}
	checksum.Reset()
	for _, part := range [][]byte{data[4:20], r.subject, r.body} {
		_, _ = checksum.Write(part) // never fails
	}
	if checksum.Sum64() != le.Uint64(sum) || r.seq&isErased != 0 {
		return record{}, 0, errRecord
	}
	if length&hasHeader != 0 {
		if end := bytes.Index(r.body, headerEnd); end < 0 || uint64(header) != uint64(end+len(headerEnd)) {
			return record{}, 0, fmt.Errorf("%w: seq %d", errDamaged, r.seq)
		}
		r.header, r.body = r.body[:header:header], r.body[header:]
	}
	r.note = r.seq&isNote != 0
	return r, size, nil
}

func (r record) message() (events.Message, error) {
	a, isPlain := plainAttributes(string(r.header))
	if !isPlain {
		header, err := nats.DecodeHeadersMsg(r.header)
		if err != nil {
			return events.Message{}, err
		}
		a = attributesOf(header)
	}
	return build(r.seq, string(r.subject), a, r.body, time.Unix(0, r.stored))
}

// plainAttributes reads a header as ingest writes it, "Key: value" in each line, at
// a fraction of what the library takes. What may be read in another way is not plain.
func plainAttributes(header string) (a attributes, isPlain bool) {
	if header == "" {
		return a, true
	}
	rest, hasVersion := strings.CutPrefix(header, "NATS/1.0\r\n")
	if !hasVersion {
		return a, false
	}
	for rest != "\r\n" {
		end, colon := strings.IndexByte(rest, '\n'), strings.IndexByte(rest, ':')
		if colon < 0 || end < colon+len(": x\r") {
			return a, false
		}
		key, value := rest[:colon], rest[colon+len(": "):end-len("\r")]
		if rest[colon+1] != ' ' || rest[end-1] != '\r' || !isWord(key) || value[0] <= ' ' || value[len(value)-1] <= ' ' {
			return a, false
		}
		rest = rest[end+1:]
		field := a.field(key)
		if field == nil {
			continue
		}
		if *field != "" {
			return a, false
		}
		*field = value
	}
	return a, true
}

func isWord(key string) bool {
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && key[i] != '-' {
			return false
		}
	}
	return key != ""
}
