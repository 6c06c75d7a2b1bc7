package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/events"
)

// ErrDisconnected: there is no connection to the log, or the server no longer knows the
// reader, for example because it was restored or its stream was created again. It ends a
// Read, because the caller must first check that the server still has the same log.
var ErrDisconnected = errors.New("not connected to the log")

// pullBytes bounds the messages that are requested in advance: enough that a reader never
// waits, and little enough to hold in memory. There is no bound in messages, because the
// client would make its queue that small, and the server's status messages would overflow it.
const pullBytes = 8 << 20

// pullTimeout is how long the server keeps a request for messages, also that of a machine
// that has gone silent. While the server waits it sends a heartbeat twice in this time.
const pullTimeout = 10 * time.Second

// Read delivers the messages from sequence from on, in order and without gaps, as soon as
// they are durable. It blocks until ctx ends (it returns nil), deliver fails (it returns
// that error), or the connection is lost (ErrDisconnected).
func (l *Log) Read(ctx context.Context, from uint64, deliver func(events.Message) error) error {
	ctx, stop, err := l.whileConnected(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return l.receive(ctx, from, deliver)
}

// receive is Read with a context from whileConnected. limits bound how long it waits for a
// message.
func (l *Log) receive(ctx context.Context, from uint64, deliver func(events.Message) error, limits ...jetstream.NextOpt) error {
	from = max(from, 1)
	config := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from}
	return l.withConsumer(ctx, config, func(ctx context.Context, consumer jetstream.Consumer) error {
		iterator, err := consumer.Messages(jetstream.PullMaxBytes(pullBytes), jetstream.PullExpiry(pullTimeout))
		if err != nil {
			return cmp.Or(disconnected(ctx), fmt.Errorf("start a reader: %w", err))
		}
		defer iterator.Stop()
		defer context.AfterFunc(ctx, iterator.Stop)()
		return l.deliverFrom(ctx, iterator, from, deliver, limits)
	})
}

func (l *Log) deliverFrom(ctx context.Context, iterator jetstream.MessagesContext, from uint64, deliver func(events.Message) error, limits []jetstream.NextOpt) error {
	durable := uint64(0)
	for next := from; ; next++ {
		m, err := iterator.Next(limits...)
		switch {
		case ctx.Err() != nil:
			return disconnected(ctx)
		case errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrNoHeartbeat):
			return fmt.Errorf("%w: %w", errConsumerDeleted, err)
		case err != nil:
			return fmt.Errorf("read the log: %w", err)
		}
		out, nth, err := decode(m)
		if err != nil {
			return err
		}
		if nth != next-from+1 {
			return fmt.Errorf("%w: messages were lost between the server and this reader", ErrDisconnected)
		}
		if out.Seq != next {
			return fmt.Errorf("the log skips from seq %d to %d: it has lost messages or is another log", next-1, out.Seq)
		}
		if l.confirm != nil && out.Seq > durable {
			durable, err = l.confirm(ctx, out.Seq)
			if err != nil && ctx.Err() != nil {
				return disconnected(ctx)
			}
			if err != nil {
				return fmt.Errorf("%w: %w", ErrDisconnected, err)
			}
		}
		if err := deliver(out); err != nil {
			return err
		}
	}
}

// whileConnected returns a context that ends with ErrDisconnected when the connection is
// lost. stop releases its resources.
func (l *Log) whileConnected(ctx context.Context) (_ context.Context, stop func(), _ error) {
	lost := l.conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if !l.conn.IsConnected() {
		l.conn.RemoveStatusListener(lost)
		return nil, nil, l.disconnected()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-lost:
			cancel(ErrDisconnected)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		l.conn.RemoveStatusListener(lost)
	}, nil
}

// disconnected returns ErrDisconnected if a context from whileConnected ended because the
// connection was lost; otherwise nil.
func disconnected(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrDisconnected) {
		return cause
	}
	return nil
}

// whyEnded returns why a context from whileConnected has ended.
func whyEnded(ctx context.Context) error { return cmp.Or(disconnected(ctx), ctx.Err()) }

// Message returns the message at seq. It asks the stream's leader, because a replica that
// lags would not have it yet. (The client's newer interface asks any replica.)
func (l *Log) Message(ctx context.Context, seq uint64) (events.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	js, err := l.conn.JetStream()
	if err != nil {
		return events.Message{}, fmt.Errorf("use JetStream: %w", err)
	}
	raw, err := js.GetMsg(l.name, seq, nats.Context(ctx))
	if err != nil {
		return events.Message{}, fmt.Errorf("read the message at seq %d: %w", seq, err)
	}
	return build(raw.Sequence, raw.Subject, attributesOf(raw.Header), raw.Data, raw.Time)
}

// StoredBy returns the sequence of the last message that was stored up to that moment, by
// the stream's clock. If there is none it returns one less than the first sequence.
func (l *Log) StoredBy(ctx context.Context, info Info, moment time.Time) (uint64, error) {
	var failed error
	n := sort.Search(int(info.Last-info.First+1), func(i int) bool {
		if failed != nil {
			return true
		}
		m, err := l.Message(ctx, info.First+uint64(i))
		if err != nil {
			failed = err
		}
		return m.StoredAt.After(moment)
	})
	return info.First + uint64(n) - 1, failed
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

// attributes are the values that payfold reads from a message's header.
type attributes struct{ id, signature, key, receivedAt string }

// field returns the field for the value of that key; nil for an unknown key.
func (a *attributes) field(key string) *string {
	switch key {
	case jetstream.MsgIDHeader:
		return &a.id
	case headerSignature:
		return &a.signature
	case headerKey:
		return &a.key
	case headerReceivedAt:
		return &a.receivedAt
	}
	return nil
}

func attributesOf(header nats.Header) (a attributes) {
	for _, key := range []string{jetstream.MsgIDHeader, headerSignature, headerKey, headerReceivedAt} {
		*a.field(key) = header.Get(key)
	}
	return a
}

func build(seq uint64, subject string, a attributes, body []byte, stored time.Time) (events.Message, error) {
	partition, err := strconv.Atoi(strings.TrimPrefix(subject, subjectPrefix))
	if err != nil {
		return events.Message{}, fmt.Errorf("message %d has subject %q, which names no partition", seq, subject)
	}
	// time.Parse is fast only for the layouts of RFC 3339.
	received, err := time.Parse(time.RFC3339Nano, a.receivedAt)
	if err != nil || len(a.receivedAt) != len("2006-01-02T15:04:05.000000Z") || received.Year() < 2000 {
		received = stored // ingest did not write this message
	}
	return events.Message{
		Seq: seq, Partition: partition, ID: a.id,
		Body: body, ReceivedAt: received.UTC(), StoredAt: stored.UTC(),
		Signature: a.signature, KeyFingerprint: a.key,
	}, nil
}
