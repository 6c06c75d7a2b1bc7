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

// Decode converts a message that a consumer has delivered. nth is its number among the messages
// of its consumer, from 1.
func Decode(m jetstream.Msg) (out events.Message, nth uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return events.Message{}, 0, fmt.Errorf("read a message's metadata: %w", err)
	}
	out, err = Build(meta.Sequence.Stream, m.Subject(), m.Headers(), m.Data(), meta.Timestamp)
	return out, meta.Sequence.Consumer, err
}

// Parse converts a message whose header is as the server stores it. The result shares the body.
func Parse(seq uint64, subject string, header, body []byte, stored time.Time) (events.Message, error) {
	a, isPlain := plainAttributes(string(header))
	if !isPlain {
		decoded, err := nats.DecodeHeadersMsg(header)
		if err != nil {
			return events.Message{}, err
		}
		a = attributesOf(decoded)
	}
	return build(seq, subject, a, body, stored)
}

// Build converts a message whose header is decoded. The result shares the body.
func Build(seq uint64, subject string, header nats.Header, body []byte, stored time.Time) (events.Message, error) {
	return build(seq, subject, attributesOf(header), body, stored)
}

func build(seq uint64, subject string, a attributes, body []byte, stored time.Time) (events.Message, error) {
	partition, err := strconv.Atoi(strings.TrimPrefix(subject, SubjectPrefix))
	if err != nil {
		return events.Message{}, fmt.Errorf("message %d has subject %q, which names no partition", seq, subject)
	}
	first, stored := a.original(stored)
	return events.NewMessage(seq, partition, first, body, stored), nil
}
