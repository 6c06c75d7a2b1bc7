package fingerprint

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/payfold/payfold/internal/events"
)

// Hash is a SHA-256 hash: of a leaf, of an inner node, or the root of a tree.
type Hash = tlog.Hash

// recordVersion is the first byte of every record. Another encoding must have another version.
const recordVersion = 2

// leafPrefix separates leaves from inner nodes (RFC 6962, section 2.1).
const leafPrefix = 0

// Leaf returns the hash of a message's record. It does not keep the message's body.
func Leaf(m events.Message) Hash {
	var buffer [512]byte // enough for all but an unusual id
	hash := sha256.New()
	hash.Write(appendHead(append(buffer[:0], leafPrefix), m))
	hash.Write(m.Body)
	var out Hash
	hash.Sum(out[:0])
	return out
}

// AppendRecord appends a message's record to to. The leaf is the hash of a zero byte and the record.
// Two messages that differ in any field have different records. So a restored message has its old
// leaf only if its event id and both times were restored, too. docs/fingerprint.md says it for others. Numbers are
// big-endian.
//
//	version       1 byte: 2
//	form          1 byte, how the body is stored: 0, as it was received
//	sequence      8 bytes
//	partition     8 bytes
//	stored at     8 bytes of seconds since 1970, signed, and 4 of nanoseconds
//	received at   the same
//	event id      4 bytes of length, then the text
//	provider      the same: its name
//	source        the same: empty for a delivery
//	signed        the same: what was signed before the body
//	signature     the same: as the header has it
//	key           the same: the fingerprint of the signature's secret
//	body          the same
func AppendRecord(to []byte, m events.Message) []byte {
	return append(appendHead(to, m), m.Body...)
}

// appendHead appends everything before the bytes of the body.
func appendHead(to []byte, m events.Message) []byte {
	to = append(to, recordVersion, byte(m.Form))
	to = binary.BigEndian.AppendUint64(to, m.Seq)
	to = binary.BigEndian.AppendUint64(to, uint64(m.Partition))
	for _, moment := range []time.Time{m.StoredAt, m.ReceivedAt} {
		// Nanoseconds in 64 bits would end in the year 2262, and a header can name a later one.
		to = binary.BigEndian.AppendUint64(to, uint64(moment.Unix()))
		to = binary.BigEndian.AppendUint32(to, uint32(moment.Nanosecond()))
	}
	for _, text := range []string{m.ID, m.Provider, m.Source, m.Signed, m.Signature, m.KeyFingerprint} {
		to = binary.BigEndian.AppendUint32(to, uint32(len(text)))
		to = append(to, text...)
	}
	return binary.BigEndian.AppendUint32(to, uint32(len(m.Body)))
}

// errNotARecord means that the bytes were not made by AppendRecord.
var errNotARecord = errors.New("not a record of a message")

// ParseRecord is the inverse of AppendRecord. It accepts exactly what AppendRecord returns for bodies that are stored as
// they were received. The message shares its body with record.
func ParseRecord(record []byte) (events.Message, error) {
	r := reader{rest: record}
	if version := r.take(1); len(version) == 1 && version[0] != recordVersion {
		return events.Message{}, fmt.Errorf("%w: it has version %d, this build reads version %d", errNotARecord, version[0], recordVersion)
	}
	if form := r.take(1); len(form) == 1 && events.Form(form[0]) != events.AsReceived {
		return events.Message{}, fmt.Errorf("%w: %w (%d)", errNotARecord, events.ErrForm, form[0])
	}
	m := events.Message{Seq: r.uint64(), Partition: int(r.uint64())}
	m.StoredAt, m.ReceivedAt = r.time(), r.time()
	for _, text := range []*string{&m.ID, &m.Provider, &m.Source, &m.Signed, &m.Signature, &m.KeyFingerprint} {
		*text = string(r.field())
	}
	m.Body = r.field()
	if r.failed || len(r.rest) > 0 {
		return events.Message{}, errNotARecord
	}
	return m, nil
}

// reader reads a record. After a failure everything it returns is empty.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n uint64) []byte {
	if r.failed || uint64(len(r.rest)) < n {
		r.failed = true
		return nil
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) field() []byte { return r.take(uint64(r.uint32())) }

// time fails if the nanoseconds are a second or more: a time must not have two encodings.
func (r *reader) time() time.Time {
	seconds, nanoseconds := int64(r.uint64()), r.uint32()
	if nanoseconds >= uint32(time.Second) {
		r.failed = true
	}
	moment := time.Unix(seconds, int64(nanoseconds)).UTC()
	if moment.Unix() != seconds { // beyond what a Time can hold
		r.failed = true
	}
	return moment
}
