package eventlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A server holds at most 1,000 consumers for a stream, so none may be left behind.
const (
	// abandonedAfter: the server deletes a consumer that it has not heard of for so
	// long, up to a second more, counted from the next time it looks.
	abandonedAfter = 5 * time.Second

	// keepInterval leaves a busy machine four more tries before that.
	keepInterval = time.Second
)

// errForgotten: the server has deleted the consumer, or lost it with one of its own.
var errForgotten = fmt.Errorf("%w: the server has forgotten the reader", ErrDisconnected)

// withConsumer makes a consumer and deletes it when use returns. Where this process or
// its connection ends before that, the server deletes it by itself within seconds. It
// lives as long as use, however slowly use reads; where the server loses it
// nevertheless, use's context ends, with errForgotten as its cause.
func (l *Log) withConsumer(ctx context.Context, config jetstream.ConsumerConfig, use func(context.Context, jetstream.Consumer) error) error {
	// The name is chosen here, to delete also what was made without an answer.
	config.Name = "reader_" + rand.Text()
	config.AckPolicy = jetstream.AckNonePolicy
	config.MemoryStorage, config.Replicas = true, 1
	config.InactiveThreshold = abandonedAfter
	defer l.deleteConsumer(ctx, config.Name)
	consumer, err := l.js.CreateConsumer(ctx, l.name, config)
	if err != nil {
		return cmp.Or(disconnected(ctx), fmt.Errorf("create a reader: %w", err))
	}
	if err := l.reach(ctx, config.Name); err != nil {
		return cmp.Or(disconnected(ctx), err)
	}
	using, cancel := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { cancel(l.keep(using, config.Name)) })
	defer keeping.Wait()
	defer cancel(nil)
	return use(using, consumer)
}

// deleteConsumer asks once: where there is no answer, the server deletes it by itself.
func (l *Log) deleteConsumer(ctx context.Context, name string) {
	if !l.conn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	_ = l.js.DeleteConsumer(ctx, l.name, name)
}

// reach returns when the consumer can be asked. In a cluster another server may have
// made it, and ours hears of it a moment later.
func (l *Log) reach(ctx context.Context, name string) error {
	const pause = 10 * time.Millisecond
	for range askTime / pause {
		if err := l.touch(ctx, name); !errors.Is(err, nats.ErrNoResponders) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return errForgotten
}

// keep tells the server that the consumer is needed, until ctx ends (its cause) or the
// server says that there is none (errForgotten). A reader that is slow to take what it
// was sent asks for nothing else meanwhile.
func (l *Log) keep(ctx context.Context, name string) error {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if errors.Is(l.touch(ctx, name), nats.ErrNoResponders) {
			return errForgotten
		}
	}
}

// nothing is a request for a message of at most one byte, and there is none. To the
// server it is a sign of life.
const nothing = `{"batch":1,"max_bytes":1,"no_wait":true}`

// touch fails with ErrNoResponders where there is no such consumer.
func (l *Log) touch(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, keepInterval)
	defer cancel()
	_, err := l.conn.RequestWithContext(ctx, "$JS.API.CONSUMER.MSG.NEXT."+l.name+"."+name, []byte(nothing))
	return err
}
