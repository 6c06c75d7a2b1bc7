package eventlog

import (
	"fmt"
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

// message is one delivery as the log stores it.
type message struct {
	subject string
	header  [9]field
	body    []byte
}

// field is one line of a header. A field with an empty value is left out. No value contains
// a line break.
type field struct{ name, value string }

func newMessage(d events.Delivery, stream string, partitions int) *message {
	m := &message{
		subject: subject(d.Event.Partition(partitions)),
		header: [...]field{
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
		body: d.Body,
	}
	for i, f := range m.header {
		if strings.IndexByte(f.value, '\n') >= 0 || strings.IndexByte(f.value, '\r') >= 0 {
			m.header[i].value = lineBreaks.Replace(f.value)
		}
	}
	return m
}

// lineBreaks replaces them as nats.go does.
var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// forClient returns the message as nats.go takes it.
func (m *message) forClient(reply string) *nats.Msg {
	header := make(nats.Header, len(m.header))
	for _, f := range m.header {
		if f.value != "" {
			header[f.name] = []string{f.value}
		}
	}
	return &nats.Msg{Subject: m.subject, Reply: reply, Data: m.body, Header: header}
}

const subjectPrefix = "payments."

func subject(partition int) string { return subjectPrefix + strconv.Itoa(partition) }

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

// decode converts a message. nth is its number among the messages of its consumer, from 1.
func decode(m jetstream.Msg) (out events.Message, nth uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return events.Message{}, 0, fmt.Errorf("read a message's metadata: %w", err)
	}
	out, err = build(meta.Sequence.Stream, m.Subject(), attributesOf(m.Headers()), m.Data(), meta.Timestamp)
	return out, meta.Sequence.Consumer, err
}

func attributesOf(header nats.Header) (a events.Attributes) {
	for _, key := range []string{events.HeaderID, events.HeaderSignature, events.HeaderKey, events.HeaderReceivedAt} {
		*a.Field(key) = header.Get(key)
	}
	return a
}

func build(seq uint64, subject string, a events.Attributes, body []byte, stored time.Time) (events.Message, error) {
	partition, err := strconv.Atoi(strings.TrimPrefix(subject, subjectPrefix))
	if err != nil {
		return events.Message{}, fmt.Errorf("message %d has subject %q, which names no partition", seq, subject)
	}
	return events.NewMessage(seq, partition, a, body, stored), nil
}
