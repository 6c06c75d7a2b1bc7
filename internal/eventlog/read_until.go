package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
)

// patience is how long a server may take to give a message that it says it has.
const patience = 30 * time.Second

// ReadUntil delivers the messages from sequence from to until, in order and
// without gaps, and returns when deliver has had the last (nil), deliver fails
// (its error), ctx ends (its error), or the connection is lost (ErrDisconnected).
// The log must have the message at until. A message's body is deliver's only until it
// returns.
//
// On the machine of an embedded log it reads the server's files beside the server,
// at a quarter of what it costs both to send the messages. Where they may not be
// read, or are not as expected, it asks the server, as it does everywhere else.
func (l *Log) ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	if from > until {
		return nil
	}
	// One connection for all: what is there after a loss may be another log.
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
	next := from
	counted := func(m events.Message) error {
		next = m.Seq + 1
		return deliver(m)
	}
	err = l.readFiles(ctx, info, from, until, counted)
	if !errors.Is(err, blockstore.ErrUnlike) {
		return err
	}
	if ctx.Err() != nil {
		return whyEnded(ctx)
	}
	unlike := err
	err = l.receiveUntil(ctx, next, until, counted)
	if errors.Is(err, nats.ErrTimeout) {
		err = fmt.Errorf("the server does not give the message at seq %d (%w): %w", next, unlike, err)
	}
	return err
}

// receiveUntil is ReadUntil from the server, with a ctx of whileConnected.
func (l *Log) receiveUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err := l.receive(reading, from, func(m events.Message) error {
		if m.Seq == until {
			stop() // receive returns after this message
		}
		return deliver(m)
	}, jetstream.NextMaxWait(patience))
	if err == nil && ctx.Err() != nil {
		return whyEnded(ctx)
	}
	return err
}

// readFiles is ReadUntil from the files, with a ctx of whileConnected, when they
// are the server's: nothing is missing between its first message and its last, and
// both have the same one at until. It may end with blockstore.ErrUnlike after any message.
func (l *Log) readFiles(ctx context.Context, info Info, from, until uint64, deliver func(events.Message) error) error {
	if l.files == nil {
		return fmt.Errorf("%w: they are elsewhere", blockstore.ErrUnlike)
	}
	if from < info.First || info.Messages != info.Last-info.First+1 {
		return fmt.Errorf("%w: the server has removed some of it", blockstore.ErrUnlike)
	}
	want, err := l.Message(ctx, until)
	if err != nil {
		return fmt.Errorf("%w: %w", blockstore.ErrUnlike, err)
	}
	if _, err := l.confirm(ctx, until); err != nil {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		return fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	err = l.readBlocks(ctx, until, until, func(m events.Message) error {
		if m.ID != want.ID || !m.StoredAt.Equal(want.StoredAt) || !bytes.Equal(m.Body, want.Body) {
			return fmt.Errorf("%w: they are of another log", blockstore.ErrUnlike)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.readBlocks(ctx, from, until, deliver)
}
