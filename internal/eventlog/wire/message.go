package wire

import (
	"fmt"
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

// maxHeaders is how many headers New makes at most.
const maxHeaders = 12

// New returns the message of a delivery, for a stream with this many partitions.
func New(d events.Delivery, stream string, partitions int) *nats.Msg {
	header := make(nats.Header, maxHeaders)
	for _, field := range [...]struct{ name, value string }{
		{events.HeaderID, d.Event.ID},
		{jetstream.ExpectedStreamHeader, stream},
		{events.HeaderProvider, d.Provider},
		{events.HeaderSource, d.Source},
		{events.HeaderSigned, d.Signed},
		{events.HeaderSignature, d.Signature},
		{events.HeaderKey, d.KeyFingerprint},
		{events.HeaderReceivedAt, events.FormatReceived(d.ReceivedAt)},
		{headerKind, token(d.Event.Kind)},
		{headerType, token(d.Event.Type)},
		{headerTrace, d.TraceParent},
		{headerTraceState, d.TraceState},
	} {
		if field.value != "" {
			header[field.name] = []string{field.value}
		}
	}
	return &nats.Msg{Subject: Subject(d.Event.Partition(partitions)), Header: header, Data: d.Body}
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

// FromConsumer returns a message that a consumer has delivered. nth is its number among the messages
// of its consumer, from 1.
func FromConsumer(m jetstream.Msg) (out events.Message, nth uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return events.Message{}, 0, fmt.Errorf("read a message's metadata: %w", err)
	}
	out, err = FromServer(meta.Sequence.Stream, m.Subject(), m.Headers(), m.Data(), meta.Timestamp)
	return out, meta.Sequence.Consumer, err
}

// FromFile returns a message whose header is as the server stores it. The result shares the body.
func FromFile(seq uint64, subject string, header, body []byte, stored time.Time) (events.Message, error) {
	a, isPlain := plainAttributes(string(header))
	if !isPlain {
		decoded, err := nats.DecodeHeadersMsg(header)
		if err != nil {
			return events.Message{}, err
		}
		a = attributesOf(decoded)
	}
	return newMessage(seq, subject, a, body, stored)
}

// FromServer returns a message whose header the client has decoded. The result shares the body.
func FromServer(seq uint64, subject string, header nats.Header, body []byte, stored time.Time) (events.Message, error) {
	return newMessage(seq, subject, attributesOf(header), body, stored)
}

func newMessage(seq uint64, subject string, a attributes, body []byte, stored time.Time) (events.Message, error) {
	partition, err := strconv.Atoi(strings.TrimPrefix(subject, SubjectPrefix))
	if err != nil {
		return events.Message{}, fmt.Errorf("message %d has subject %q, which names no partition", seq, subject)
	}
	first, stored := a.original(stored)
	return events.NewMessage(seq, partition, first, body, stored), nil
}
