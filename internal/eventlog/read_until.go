package eventlog

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

// messageTimeout is how long a server may take to deliver a message that it claims to have.
const messageTimeout = 30 * time.Second

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
	return l.readUntil(ctx, from, until, false, func(m events.Message, _ wire.Header) error { return deliver(m) })
}

// ReadRecords is ReadUntil that delivers each message with all its headers.
func (l *Log) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return l.readUntil(ctx, from, until, true, func(m events.Message, h wire.Header) error { return deliverRecord(m, h, deliver) })
}

// deliverRecord delivers a message with all its headers.
func deliverRecord(m events.Message, h wire.Header, deliver func(archive.Record) error) error {
	list, err := h.List()
	if err != nil {
		return fmt.Errorf("read the header of the message at seq %d: %w", m.Seq, err)
	}
	return deliver(archive.Record{Seq: m.Seq, Partition: m.Partition, StoredAt: m.StoredAt, Header: list, Body: m.Body})
}

func (l *Log) readUntil(ctx context.Context, from, until uint64, headers bool, deliver deliverFunc) error {
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
	r := reading{Log: l, info: info, next: from, headers: headers, deliver: deliver}
	return r.run(ctx, until)
}

// fromConnection delivers the messages from next to until as the server sends them.
func (r *reading) fromConnection(ctx context.Context, until uint64) error {
	receiving, stop := context.WithCancel(ctx)
	defer stop()
	err := r.receive(receiving, r.next, func(m events.Message, h wire.Header) error {
		if m.Seq == until {
			stop() // receive returns after this message
		}
		return r.take(m, h)
	}, jetstream.NextMaxWait(messageTimeout))
	if err == nil && ctx.Err() != nil {
		return whyEnded(ctx)
	}
	return err
}

// fromFiles delivers the messages from next to until from the server's files. It first makes sure that the files are
// those of the server: the server's log has no gap, and the message at until is the same in both. It can fail with
// blockstore.ErrUnexpectedLayout after any message.
func (r *reading) fromFiles(ctx context.Context, until uint64) error {
	if r.files == nil {
		return fmt.Errorf("%w: they are not on this machine", blockstore.ErrUnexpectedLayout)
	}
	if r.next < r.info.ServerFirst || r.info.Messages != r.info.Last-r.info.ServerFirst+1 {
		return fmt.Errorf("%w: the server has removed messages", blockstore.ErrUnexpectedLayout)
	}
	want, err := r.message(ctx, until)
	if err != nil {
		return fmt.Errorf("%w: %w", blockstore.ErrUnexpectedLayout, err)
	}
	if _, err := r.confirm(ctx, until); err != nil {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		return fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	err = readBlocks(ctx, r.files, until, until, func(m events.Message, _ wire.Header) error {
		if m.ID != want.ID || !m.StoredAt.Equal(want.StoredAt) || !bytes.Equal(m.Body, want.Body) {
			return fmt.Errorf("%w: they belong to another log", blockstore.ErrUnexpectedLayout)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return readBlocks(ctx, r.files, r.next, until, r.take)
}
