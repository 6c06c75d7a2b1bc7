package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/events"
)

// Headers of a message. Together with the signing secrets they let anybody verify the
// body's signature again years later.
const (
	headerSignature  = "Payfold-Signature"
	headerKey        = "Payfold-Key"
	headerReceivedAt = "Payfold-Received-At"
	headerKind       = "Payfold-Kind"
	headerType       = "Payfold-Event-Type"
	headerTrace      = "traceparent"
	headerTraceState = "tracestate"
)

const receivedAtLayout = "2006-01-02T15:04:05.000000Z07:00"

// Append stores one delivery and returns when it is durable. duplicate is true if the
// log already had an event with this id within its duplicate window: then nothing was
// added, and the first event is durable too. After an error the delivery may or may not
// have been stored: the caller must not confirm it, and may try again.
func (l *Log) Append(ctx context.Context, d events.Delivery) (duplicate bool, err error) {
	partitions, err := l.writable(ctx)
	if err != nil {
		return false, fmt.Errorf("append %s: %w", d.Event.ID, err)
	}
	m := message(d, l.name, partitions)
	duplicate, err = l.committer.append(ctx, m)
	if err == nil { // the stream may have been replaced meanwhile, or the server
		_, err = l.writable(ctx)
	}
	if err != nil {
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse):
			l.state.Store(nil) // the stream is gone; a new one may have other settings
		case errors.Is(err, context.DeadlineExceeded) && l.health != nil:
			if reason := l.health(); reason != nil {
				l.committer.fail(reason)
			}
		}
		return false, fmt.Errorf("append %s: %w", d.Event.ID, err)
	}
	return duplicate, nil
}

func message(d events.Delivery, stream string, partitions int) *nats.Msg {
	values := [...]struct{ name, value string }{
		{jetstream.MsgIDHeader, d.Event.ID},
		{jetstream.ExpectedStreamHeader, stream},
		{headerSignature, d.Signature},
		{headerKey, d.KeyFingerprint},
		{headerReceivedAt, d.ReceivedAt.UTC().Truncate(time.Microsecond).Format(receivedAtLayout)},
		{headerKind, token(d.Event.Kind)},
		{headerType, token(d.Event.Type)},
		{headerTrace, d.TraceParent},
		{headerTraceState, d.TraceState},
	}
	header := make(nats.Header, len(values))
	texts := make([]string, len(values)) // one allocation for all
	for i, v := range values {
		if texts[i] = v.value; v.value != "" {
			header[v.name] = texts[i : i+1 : i+1]
		}
	}
	return &nats.Msg{Subject: subject(d.Event.Partition(partitions)), Data: d.Body, Header: header}
}

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
