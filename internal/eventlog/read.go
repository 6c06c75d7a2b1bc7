package eventlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

// maxPullBytes bounds the messages that are requested in advance: enough that a reader never
// waits, and little enough to hold in memory. There is no bound in messages, because the
// client would make its queue that small, and the server's status messages would overflow it.
const maxPullBytes = 8 << 20

// pullTimeout is how long the server keeps a request for messages, also a request of a machine that
// has gone silent. While the server waits, it sends two heartbeats in this time.
const pullTimeout = 10 * time.Second

// deliverFunc takes the next message of a read. Its body is valid only until deliverFunc returns.
type deliverFunc func(events.Message, wire.Header) error

// Read delivers the messages from sequence from on, in order and without gaps, as soon as they are
// durable. It blocks until ctx ends (it returns nil), deliver fails (it returns that error), or the
// connection is lost (ErrDisconnected). Messages that the server has removed are read from the
// archive. A backlog is read from the server's files if they are on this machine. A message's body
// is valid only until deliver returns.
//
// deliver also gets the trace context of the delivery. It is "" if there is none, and for messages
// from the archive.
func (l *Log) Read(ctx context.Context, from uint64, deliver func(m events.Message, traceParent string) error) error {
	ctx, stop, err := l.whileConnected(ctx)
	if err != nil {
		return err
	}
	defer stop()
	r := reading{Log: l, next: max(from, 1), deliver: func(m events.Message, h wire.Header) error { return deliver(m, h.TraceParent()) }}
	if err = r.removed(ctx); err == nil && ctx.Err() == nil {
		err = r.backlog(ctx)
	}
	switch {
	case ctx.Err() != nil && r.failed == nil:
		return disconnected(ctx)
	case err != nil:
		return cmp.Or(disconnected(ctx), err)
	}
	return l.receive(ctx, r.next, r.deliver)
}

// ReadUntil delivers the messages from sequence from to until, in order and without gaps. It
// returns nil after deliver has returned for the last one, and an error if deliver fails (that
// error), ctx ends (its error), or the connection is lost (ErrDisconnected). The log must have the
// message at until. A message's body is valid only until deliver returns.
//
// It reads from the archive what the archive has, and the rest from the server; see reading. On the machine of an
// embedded log it reads a long rest from the server's files, and without an archive everything. That takes a quarter of
// the CPU that both processes need to transfer the messages. If the archive fails, it logs a warning and continues with
// the server. It fails if no source has a message.
func (l *Log) ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	return l.readUntil(ctx, from, until, func(m events.Message, _ wire.Header) error { return deliver(m) })
}

// ReadRecords is ReadUntil that delivers each message with all its headers.
func (l *Log) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return l.readUntil(ctx, from, until, func(m events.Message, h wire.Header) error { return deliverRecord(m, h, deliver) })
}

// deliverRecord delivers a message with all its headers.
func deliverRecord(m events.Message, h wire.Header, deliver func(archive.Record) error) error {
	list, err := h.List()
	if err != nil {
		return fmt.Errorf("read the header of the message at seq %d: %w", m.Seq, err)
	}
	return deliver(archive.Record{Seq: m.Seq, Partition: m.Partition, StoredAt: m.StoredAt, Header: list, Body: m.Body})
}

func (l *Log) readUntil(ctx context.Context, from, until uint64, deliver deliverFunc) error {
	if from > until {
		return nil
	}
	// All of it must come through one connection: after a reconnect the server may have
	// another log.
	ctx, stop, err := l.whileConnected(ctx)
	if err != nil {
		return err
	}
	defer stop()
	info, err := l.Info(ctx)
	if err != nil {
		return err
	}
	if until > info.Last {
		return fmt.Errorf("the log ends at seq %d, before seq %d", info.Last, until)
	}
	if from < info.First {
		return fmt.Errorf("the log begins at seq %d, after seq %d", info.First, from)
	}
	r := reading{Log: l, info: info, next: from, deliver: deliver}
	return r.run(ctx, until)
}

// receive is Read with a context from whileConnected. limits bound how long it waits for a
// message.
func (l *Log) receive(ctx context.Context, from uint64, deliver deliverFunc, limits ...jetstream.NextOpt) error {
	ctx, consumer, stop, err := l.consume(ctx, consumerFrom(from))
	if err != nil {
		return err
	}
	defer stop()
	return l.pull(ctx, consumer, maxPullBytes, from, deliver, limits...)
}

func consumerFrom(seq uint64) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: seq}
}

// pull delivers the messages of a consumer that begins with from, each when it is durable. It requests so many bytes in
// advance.
func (l *Log) pull(ctx context.Context, consumer jetstream.Consumer, bytes int, from uint64, deliver deliverFunc, limits ...jetstream.NextOpt) error {
	iterator, err := consumer.Messages(jetstream.PullMaxBytes(bytes), jetstream.PullExpiry(pullTimeout))
	if err != nil {
		return cmp.Or(disconnected(ctx), fmt.Errorf("start a reader: %w", err))
	}
	defer iterator.Stop()
	defer context.AfterFunc(ctx, iterator.Stop)()
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
		out, nth, err := wire.FromConsumer(m)
		if err != nil {
			return err
		}
		if nth != next-from+1 {
			return fmt.Errorf("%w: messages were lost between the server and this reader", ErrDisconnected)
		}
		if out.Seq != next {
			return l.skipped(ctx, next, out.Seq)
		}
		if out.Seq > durable {
			durable, err = l.confirm(ctx, out.Seq)
			if err != nil && ctx.Err() != nil {
				return disconnected(ctx)
			}
			if err != nil {
				return fmt.Errorf("%w: %w", ErrDisconnected, err)
			}
		}
		if err := deliver(out, wire.Header{Decoded: m.Headers()}); err != nil {
			return err
		}
	}
}

// removed delivers the messages that the server does not have any more.
func (r *reading) removed(ctx context.Context) (err error) {
	if r.info, err = r.Info(ctx); err != nil || r.next >= r.info.ServerFirst {
		return err
	}
	r.next = max(r.next, r.info.First)
	return r.run(ctx, r.info.ServerFirst-1)
}

// minBacklog is how many messages must wait before the files are read. The check that the files are
// the server's takes as long as the receipt of some hundred messages.
const minBacklog = 1000

// backlog delivers messages from the server's files while many wait and the files can be used.
func (r *reading) backlog(ctx context.Context) (err error) {
	for r.files != nil {
		if r.info, err = r.Info(ctx); err != nil || r.info.Last < r.next+minBacklog {
			return err
		}
		if err = r.fromFiles(ctx, r.info.Last); errors.Is(err, blockstore.ErrUnexpectedLayout) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Message returns the message at seq, also if only the archive still has it.
func (l *Log) Message(ctx context.Context, seq uint64) (out events.Message, err error) {
	out, missing := l.message(ctx, seq)
	if !errors.Is(missing, nats.ErrMsgNotFound) {
		return out, missing
	}
	if info, err := l.Info(ctx); err != nil || seq < info.First || seq >= info.ServerFirst {
		return events.Message{}, missing
	}
	err = l.ReadUntil(ctx, seq, seq, func(m events.Message) error {
		m.Body = bytes.Clone(m.Body)
		out = m
		return nil
	})
	return out, err
}

// message returns the server's message at seq. It asks the stream's leader, because a replica that
// lags would not have it yet. (The client's newer interface asks any replica.)
func (l *Log) message(ctx context.Context, seq uint64) (events.Message, error) {
	raw, err := l.rawMessage(ctx, seq)
	if err != nil {
		return events.Message{}, fmt.Errorf("read the message at seq %d: %w", seq, err)
	}
	return wire.FromServer(raw.Sequence, raw.Subject, raw.Header, raw.Data, raw.Time)
}

// TraceParent returns the trace context of the delivery at seq, "" if it has none. It fails if the
// server does not have the message any more.
func (l *Log) TraceParent(ctx context.Context, seq uint64) (string, error) {
	raw, err := l.rawMessage(ctx, seq)
	if err != nil {
		return "", fmt.Errorf("read the message at seq %d: %w", seq, err)
	}
	return wire.Header{Decoded: raw.Header}.TraceParent(), nil
}

func (l *Log) rawMessage(ctx context.Context, seq uint64) (*nats.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, l.request)
	defer cancel()
	js, err := l.conn.JetStream()
	if err != nil {
		return nil, err
	}
	return js.GetMsg(l.name, seq, nats.Context(ctx))
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
