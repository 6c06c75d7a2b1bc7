package wire

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/events"
)

// These headers are not needed to fold a message. Package events has the others. With those and the
// signing secrets, anybody can verify the signature again years later.
const (
	headerKind       = "Payfold-Kind"
	headerType       = "Payfold-Event-Type"
	headerTrace      = "traceparent"
	headerTraceState = "tracestate"
)

const receivedAtLayout = "2006-01-02T15:04:05.000000Z07:00"

// Message is one delivery as the log stores it.
type Message struct {
	Subject string
	Header  [12]Field
	Body    []byte
}

// Field is one line of a header. A field with an empty value is left out. No value contains a line
// break.
type Field struct{ Name, Value string }

// New returns the message of a delivery, for a stream with this many partitions.
func New(d events.Delivery, stream string, partitions int) *Message {
	m := &Message{
		Subject: Subject(d.Event.Partition(partitions)),
		Header: [...]Field{
			{events.HeaderID, d.Event.ID},
			{jetstream.ExpectedStreamHeader, stream},
			{events.HeaderProvider, d.Provider},
			{events.HeaderSource, d.Source},
			{events.HeaderSigned, d.Signed},
			{events.HeaderSignature, d.Signature},
			{events.HeaderKey, d.KeyFingerprint},
			{events.HeaderReceivedAt, d.ReceivedAt.UTC().Truncate(time.Microsecond).Format(receivedAtLayout)},
			{headerKind, token(d.Event.Kind)},
			{headerType, token(d.Event.Type)},
			{headerTrace, d.TraceParent},
			{headerTraceState, d.TraceState},
		},
		Body: d.Body,
	}
	for i, f := range m.Header {
		if strings.IndexByte(f.Value, '\n') >= 0 || strings.IndexByte(f.Value, '\r') >= 0 {
			m.Header[i].Value = lineBreaks.Replace(f.Value)
		}
	}
	return m
}

// lineBreaks replaces line breaks by spaces, as nats.go does.
var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// ForClient returns the message in the form of nats.go.
func (m *Message) ForClient(reply string) *nats.Msg {
	header := make(nats.Header, len(m.Header))
	for _, f := range m.Header {
		if f.Value != "" {
			header[f.Name] = []string{f.Value}
		}
	}
	return &nats.Msg{Subject: m.Subject, Reply: reply, Data: m.Body, Header: header}
}

// SubjectPrefix is the prefix of all subjects; the number of a partition follows.
const SubjectPrefix = "payments."

// Subject returns the subject of a partition's messages.
func Subject(partition int) string { return SubjectPrefix + strconv.Itoa(partition) }

const maxToken = 64

// token returns s if it is short and has only letters, digits and ._-, as a header
// needs; otherwise it returns "".
func token(s string) string {
	if len(s) > maxToken {
		return ""
	}
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return ""
		}
	}
	return s
}
