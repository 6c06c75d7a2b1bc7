package events

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Message is one message of the log.
type Message struct {
	Seq            uint64
	Partition      int
	ID             string // its dedupe id
	Form           Form   // of Body
	Body           []byte // must not be changed; the function that delivers the Message says how long it is valid
	ReceivedAt     time.Time
	StoredAt       time.Time // by the stream's clock
	Provider       string    // its name; empty if payfold did not write the message
	Source         string    // empty for a delivery, or SourcePulled
	Signed         string    // what was signed before the body, without the separator; empty if nothing was
	Signature      string    // hex or base64, as the provider's scheme has it
	KeyFingerprint string    // of the secret that made Signature
}

// Digest returns a hash of the id and the body. A message with another id or body has another
// digest. So digests show whether two logs have the same message at a sequence.
func (m Message) Digest() []byte {
	hash := sha256.New()
	hash.Write([]byte(m.ID))
	hash.Write([]byte{0})
	hash.Write(m.Body)
	return hash.Sum(nil)
}

// Delivery is one verified delivery, as the log stores it.
type Delivery struct {
	Event          Event
	Body           []byte // as it was received, unchanged
	Provider       string // its name
	Source         string // empty for a delivery, or SourcePulled
	Signed         string // what was signed before the body, without the separator; empty if nothing was
	Signature      string // the one that matched: hex or base64, at most 128 bytes
	KeyFingerprint string // of the secret that made Signature
	ReceivedAt     time.Time
	TraceParent    string
	TraceState     string
}

// NewMessage returns the message with these headers. stored is the time of the stream's clock.
func NewMessage(seq uint64, partition int, a Attributes, body []byte, stored time.Time) Message {
	received, ok := parseReceived(a.ReceivedAt)
	if !ok {
		received = stored // ingest did not write this message
	}
	return Message{
		Seq: seq, Partition: partition, ID: a.ID, Form: NewForm(a.Form),
		Body: body, ReceivedAt: received.UTC(), StoredAt: stored.UTC(),
		Provider: a.Provider, Source: a.Source, Signed: a.Signed, Signature: a.Signature, KeyFingerprint: a.Key,
	}
}

// receivedForm is the form of HeaderReceivedAt: UTC, in microseconds. docs/fingerprint.md has it, because the time is a
// part of the leaf.
const receivedForm = "2006-01-02T15:04:05.000000Z"

// FormatReceived writes the value of HeaderReceivedAt.
func FormatReceived(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(receivedForm)
}

// parseReceived accepts exactly that form.
func parseReceived(text string) (time.Time, bool) {
	if len(text) != len(receivedForm) || text[len(receivedForm)-1] != 'Z' || text[len("2006-01-02T15:04:05")] != '.' {
		return time.Time{}, false
	}
	received, err := time.Parse(time.RFC3339Nano, text) // it is fast only for the layouts of RFC 3339
	return received, err == nil && received.Year() >= 2000
}

// Names of a message's headers that payfold reads. Anybody who may write to the stream can give them any value.
const (
	HeaderID         = "Nats-Msg-Id"       // the broker's dedupe id
	HeaderProvider   = "Payfold-Provider"  // the provider's name
	HeaderSource     = "Payfold-Source"    // absent for a delivery, or SourcePulled
	HeaderSigned     = "Payfold-Signed"    // what was signed before the body, without the separator; absent where nothing was
	HeaderSignature  = "Payfold-Signature" // the signature that matched: hex or base64, at most 128 bytes
	HeaderKey        = "Payfold-Key"       // the fingerprint of its secret
	HeaderReceivedAt = "Payfold-Received-At"
	HeaderForm       = "Payfold-Body" // a Form other than AsReceived, as a decimal number
)

// SourcePulled is the source of an event that ingest asked the provider's API for.
const SourcePulled = "pulled"

// Form says how a body is stored.
type Form byte

const (
	// AsReceived means byte for byte. No other form is written, or can be read.
	AsReceived Form = 0
	// unknownForm stands for every header that is not a number of one byte.
	unknownForm Form = 255
)

// ErrForm means that a body is not stored as it was received.
var ErrForm = errors.New("the body is stored in a form that this build cannot read")

// NewForm reads the value of HeaderForm; it is empty if the message has no such header.
func NewForm(text string) Form {
	n, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 8)
	if err != nil {
		return unknownForm
	}
	return Form(n)
}

// Header is one header of a message.
type Header struct{ Name, Value string }

// Attributes are the values of the headers that payfold reads.
type Attributes struct{ ID, Provider, Source, Signed, Signature, Key, ReceivedAt, Form string }

// Field returns the field for the value of that header; nil for any other header.
func (a *Attributes) Field(name string) *string {
	switch name {
	case HeaderID:
		return &a.ID
	case HeaderProvider:
		return &a.Provider
	case HeaderSource:
		return &a.Source
	case HeaderSigned:
		return &a.Signed
	case HeaderSignature:
		return &a.Signature
	case HeaderKey:
		return &a.Key
	case HeaderReceivedAt:
		return &a.ReceivedAt
	case HeaderForm:
		return &a.Form
	}
	return nil
}

// NewAttributes reads headers that are sorted by name. If several have the same name, the first
// counts.
func NewAttributes(headers []Header) (a Attributes) {
	for i, h := range headers {
		if field := a.Field(h.Name); field != nil && (i == 0 || headers[i-1].Name != h.Name) {
			*field = h.Value
		}
	}
	return a
}

// A log that is restored from an archive can lack its newest messages. Other messages must not get
// their sequences, because tables that were folded from the lost log have these sequences. So each
// of them gets a mark: an unsigned own event of its own type, which the rules ignore.

// LostType is the event type of a mark.
const LostType = "payfold.lost"

// Lost returns the id and the body of the mark at a sequence.
func Lost(seq uint64) (id string, body []byte) {
	id = fmt.Sprintf("lost:%d", seq)
	return id, fmt.Appendf(nil, `{"id":%q,"type":%q}`, id, LostType)
}

// Lost reports whether m is the mark at its sequence.
func (m Message) Lost() bool {
	if m.Signature != "" { // nearly every message
		return false
	}
	id, body := Lost(m.Seq)
	return m.ID == id && bytes.Equal(m.Body, body)
}
