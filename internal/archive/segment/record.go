package segment

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Record is one message of the log, as its server stores it.
type Record struct {
	Seq       uint64
	Partition int
	StoredAt  time.Time       // by the stream's clock
	Header    []events.Header // sorted by name; those of one name in their own order. Like Body, it is valid only until the
	Body      []byte          // function that was given the Record returns
}

// Message returns the message that readers of the log are given. It shares the body.
func (r Record) Message() events.Message {
	return events.NewMessage(r.Seq, r.Partition, events.NewAttributes(r.Header), r.Body, r.StoredAt)
}

// A record, little-endian:
//
//	length of all that follows 4 | sequence 8 | stored at, ns since 1970 8 | partition 4 | length of the headers 4 |
//	form of the body 1 | headers: each length of the name 2, name, length of the value 4, value | body
const (
	recordLength = 4
	recordFixed  = 8 + 8 + 4 + 4 + 1

	// asInTheLog is the form of a body that is stored byte for byte as the log has it.
	asInTheLog = 0

	// maxRecord is a little more than the maximum that a server can be configured to accept, 64 MB.
	maxRecord = 65 << 20
)

var le = binary.LittleEndian

var errRecord = errors.New("a record is invalid")

// appendRecord appends the bytes of r.
func appendRecord(to []byte, r *Record) ([]byte, error) {
	if !slices.IsSortedFunc(r.Header, byName) {
		return nil, fmt.Errorf("the headers of seq %d are not sorted", r.Seq)
	}
	headers := 0
	for _, h := range r.Header {
		if len(h.Name) > math.MaxUint16 {
			return nil, fmt.Errorf("seq %d has a header with a name of %d bytes", r.Seq, len(h.Name))
		}
		headers += 2 + len(h.Name) + 4 + len(h.Value)
	}
	size := recordFixed + headers + len(r.Body)
	if size > maxRecord || r.Partition < 0 || r.Partition > math.MaxInt32 {
		return nil, fmt.Errorf("seq %d cannot be archived: %d bytes in partition %d", r.Seq, size, r.Partition)
	}
	to = le.AppendUint32(slices.Grow(to, recordLength+size), uint32(size))
	to = le.AppendUint64(to, r.Seq)
	to = le.AppendUint64(to, uint64(r.StoredAt.UnixNano()))
	to = le.AppendUint32(to, uint32(r.Partition))
	to = append(le.AppendUint32(to, uint32(headers)), asInTheLog)
	for _, h := range r.Header {
		to = append(le.AppendUint16(to, uint16(len(h.Name))), h.Name...)
		to = append(le.AppendUint32(to, uint32(len(h.Value))), h.Value...)
	}
	return append(to, r.Body...), nil
}

// WithBytes returns a function that delivers each record with its bytes, which are valid only until deliver returns.
func WithBytes(deliver func(r Record, bytes []byte) error) func(Record) error {
	var bytes []byte
	return func(r Record) (err error) {
		if bytes, err = appendRecord(bytes[:0], &r); err != nil {
			return err
		}
		return deliver(r, bytes)
	}
}

func byName(a, b events.Header) int { return strings.Compare(a.Name, b.Name) }

// usualHeaders is how many headers a message has at most if ingest wrote it.
const usualHeaders = 12

// parseRecord reads the first record in data. The record shares its body with data, and its headers with space.
func parseRecord(data []byte, space []events.Header) (r Record, size int, err error) {
	if len(data) < recordLength {
		return Record{}, 0, errRecord
	}
	length := le.Uint32(data)
	if data = data[recordLength:]; length < recordFixed || uint64(length) > uint64(len(data)) {
		return Record{}, 0, errRecord
	}
	data = data[:length:length]
	r = Record{
		Seq: le.Uint64(data), StoredAt: time.Unix(0, int64(le.Uint64(data[8:]))).UTC(),
		Partition: int(le.Uint32(data[16:])),
	}
	headers, form := le.Uint32(data[20:]), data[24]
	if form != asInTheLog {
		return Record{}, 0, fmt.Errorf("%w (%d)", events.ErrForm, form)
	}
	if data = data[recordFixed:]; uint64(headers) > uint64(len(data)) {
		return Record{}, 0, errRecord
	}
	r.Body = data[headers:]
	text := string(data[:headers]) // one allocation for all of them
	r.Header = space[:0]
	for text != "" {
		var h events.Header
		var ok bool
		if h.Name, text, ok = cutText(text, 2); !ok {
			return Record{}, 0, errRecord
		}
		if h.Value, text, ok = cutText(text, 4); !ok {
			return Record{}, 0, errRecord
		}
		r.Header = append(r.Header, h)
	}
	if !slices.IsSortedFunc(r.Header, byName) {
		return Record{}, 0, errRecord
	}
	return r, recordLength + int(length), nil
}

// cutText reads a text that follows its length, which has lengthBytes bytes.
func cutText(from string, lengthBytes int) (text, rest string, ok bool) {
	if len(from) < lengthBytes {
		return "", "", false
	}
	length := uint64(0)
	for i := lengthBytes - 1; i >= 0; i-- {
		length = length<<8 | uint64(from[i])
	}
	if from = from[lengthBytes:]; length > uint64(len(from)) {
		return "", "", false
	}
	return from[:length], from[length:], true
}

// Hash is a SHA-256 hash.
type Hash = [sha256.Size]byte

// Chain computes the chain values of a log's records.
type Chain struct {
	hash  hash.Hash
	Value Hash
}

// NewChain continues after the record with this chain value.
func NewChain(value Hash) *Chain { return &Chain{hash: sha256.New(), Value: value} }

// ChainStart is the value before the first record of a log.
func ChainStart(logID string) Hash { return sha256.Sum256([]byte("payfold log " + logID)) }

// Add takes the bytes of the next record.
func (c *Chain) Add(record []byte) {
	c.hash.Reset()
	c.hash.Write(c.Value[:])
	c.hash.Write(record)
	c.hash.Sum(c.Value[:0])
}
