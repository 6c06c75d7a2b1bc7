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

// ErrDisconnected: there is no connection to the log at present, or the server
// has forgotten the reader, as one does that was restored or whose stream was made
// anew. It ends a Read: what the server is then must be checked before anything is
// read from it.
var ErrDisconnected = errors.New("not connected to the log")

// pullBytes is what is asked for ahead: enough to never wait, little enough to
// hold in memory. (A limit in messages as well would make the client's queue as
// small as that limit; the server's remarks between the messages overflow it.)
const pullBytes = 8 << 20

// pullTimeout: the server gives up a request after this time, also the request of a
// machine that went silent. While it waits it says twice as often that it is there.
const pullTimeout = 10 * time.Second

// Read delivers the messages from sequence from on, in order and without gaps,
// as soon as they are durable. It blocks until ctx ends (nil), deliver fails
// (its error), or the connection is lost (ErrDisconnected).
func (l *Log) Read(ctx context.Context, from uint64, deliver func(events.Message) error) error {
	ctx, stop, err := l.whileConnected(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return l.receive(ctx, from, deliver)
}

// receive is Read with a ctx of whileConnected, and with limits to how long it
// waits for a message.
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
			return fmt.Errorf("%w: %w", errForgotten, err)
		case err != nil:
			return fmt.Errorf("read the log: %w", err)
		}
		out, nth, err := decode(m)
		if err != nil {
			return err
		}
		if nth != next-from+1 {
			return fmt.Errorf("%w: messages were lost on the way", ErrDisconnected)
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

// whileConnected returns a context that ends with ErrDisconnected when the
// connection does. stop gives free what it holds.
func (l *Log) whileConnected(ctx context.Context) (_ context.Context, stop func(), _ error) {
	lost := l.conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if !l.conn.IsConnected() {
		l.conn.RemoveStatusListener(lost)
		return nil, nil, l.away()
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

// disconnected is the error of a ctx of whileConnected that ended with the
// connection, else nil.
func disconnected(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrDisconnected) {
		return cause
	}
	return nil
}

// whyEnded is the error of a ctx of whileConnected, whatever ended it.
func whyEnded(ctx context.Context) error { return cmp.Or(disconnected(ctx), ctx.Err()) }

// Message returns the message at seq, asked of the stream's leader: a replica
// that lags would not have it yet. (The client's newer interface asks any replica.)
func (l *Log) Message(ctx context.Context, seq uint64) (events.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
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

// StoredBy is the sequence of the last message stored up to that moment, by the
// stream's clock; the one before the first where there is none.
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

// decode also says the how manyth message of its consumer it is.
func decode(m jetstream.Msg) (out events.Message, nth uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return events.Message{}, 0, fmt.Errorf("read a message's metadata: %w", err)
	}
	out, err = build(meta.Sequence.Stream, m.Subject(), attributesOf(m.Headers()), m.Data(), meta.Timestamp)
	return out, meta.Sequence.Consumer, err
}

// attributes are what the header of a message says.
type attributes struct{ id, signature, key, receivedAt string }

// field is where the value of that key belongs, nil for others.
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
		return events.Message{}, fmt.Errorf("message %d has subject %q, which is no partition", seq, subject)
	}
	// Layouts but those of RFC 3339 are read slowly.
	received, err := time.Parse(time.RFC3339Nano, a.receivedAt)
	if err != nil || len(a.receivedAt) != len("2006-01-02T15:04:05.000000Z") || received.Year() < 2000 {
		received = stored // not written by ingest
	}
	return events.Message{
		Seq: seq, Partition: partition, ID: a.id,
		Body: body, ReceivedAt: received.UTC(), StoredAt: stored.UTC(),
		Signature: a.signature, KeyFingerprint: a.key,
	}, nil
}
