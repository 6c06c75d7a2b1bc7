package eventlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

// Append stores one delivery and returns when it is durable. duplicate is true if the
// log already had an event with this id within its duplicate window: then nothing was
// added, and the first event is durable too. After an error the delivery may or may not
// have been stored: the caller must not confirm it, and may try again.
func (l *Log) Append(ctx context.Context, d events.Delivery) (duplicate bool, err error) {
	partitions, err := l.writable(ctx)
	if err != nil {
		return false, fmt.Errorf("append %s: %w", d.Event.ID, err)
	}
	duplicate, err = l.committer.Append(ctx, wire.New(d, l.name, partitions))
	if err == nil { // the stream may have been replaced meanwhile, or the server
		_, err = l.writable(ctx)
	}
	if err != nil {
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse):
			l.state.Store(nil) // the stream is gone; a new one may have other settings
		case errors.Is(err, context.DeadlineExceeded):
			err = l.timedOut(err)
		}
		return false, fmt.Errorf("append %s: %w", d.Event.ID, err)
	}
	return duplicate, nil
}
