package wire

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/events"
)

// Headers of a message that no reader needs; those of package events are the others. Together
// with the signing secrets they let anybody verify the body's signature again years later.
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
	Header  [9]Field
	Body    []byte
}

// Field is one line of a header. One with an empty value is left out. No value contains
// a line break.
type Field struct{ Name, Value string }

// New returns the message of a delivery to a stream with so many partitions.
func New(d events.Delivery, stream string, partitions int) *Message {
	m := &Message{
		Subject: Subject(d.Event.Partition(partitions)),
		Header: [...]Field{
			{events.HeaderID, d.Event.ID},
			{jetstream.ExpectedStreamHeader, stream},
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

// lineBreaks replaces them as nats.go does.
var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// ForClient returns the message as nats.go takes it.
func (m *Message) ForClient(reply string) *nats.Msg {
	header := make(nats.Header, len(m.Header))
	for _, f := range m.Header {
		if f.Value != "" {
			header[f.Name] = []string{f.Value}
		}
	}
	return &nats.Msg{Subject: m.Subject, Reply: reply, Data: m.Body, Header: header}
}

// SubjectPrefix is that of all subjects; the number of a partition follows.
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
