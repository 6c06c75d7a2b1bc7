package eventlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/backoff"
)

// A server holds at most 1,000 consumers for each stream, so every reader must delete its own.
const (
	// consumerTimeout is how long the server keeps a consumer without a request. It may
	// take a second longer until the server looks.
	consumerTimeout = 5 * time.Second

	// keepAliveInterval allows four more tries before the timeout on a busy machine.
	keepAliveInterval = time.Second

	// deleteTimeout is short, because the end of a reader waits for it, and so does a projector's heartbeat. The server
	// deletes the consumer even if its answer is lost.
	deleteTimeout = 2 * time.Second
)

// errConsumerDeleted means that the server has deleted the consumer, or that the server that had it
// is gone.
var errConsumerDeleted = fmt.Errorf("%w: the server has deleted the reader's consumer", ErrDisconnected)

// consume creates a consumer, which stays alive until stop deletes it, even if it is used slowly. If this
// process or its connection ends first, the server deletes the consumer within seconds. Use it with the
// context: if the server loses the consumer, the context ends with errConsumerDeleted as its cause.
func (l *Log) consume(
	ctx context.Context, config jetstream.ConsumerConfig,
) (_ context.Context, _ jetstream.Consumer, stop func(), _ error) {
	// With a name chosen here, a consumer can be deleted even if the answer that it was
	// created is lost.
	config.Name = "reader_" + rand.Text()
	config.AckPolicy = jetstream.AckNonePolicy
	config.MemoryStorage, config.Replicas = true, 1
	config.InactiveThreshold = consumerTimeout
	consumer, err := l.js.CreateConsumer(ctx, l.name, config)
	if err != nil {
		err = fmt.Errorf("create a reader: %w", err)
	} else {
		err = l.awaitConsumer(ctx, config.Name)
	}
	if err != nil {
		err = l.whyFailed(ctx, err)
		l.deleteConsumer(ctx, config.Name)
		return nil, nil, nil, err
	}
	using, cancel := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { cancel(l.keepAlive(using, config.Name)) })
	return using, consumer, func() {
		cancel(nil)
		keeping.Wait()
		l.deleteConsumer(ctx, config.Name)
	}, nil
}

// deleteConsumer asks the server once. If the question is lost, the server deletes the consumer
// after consumerTimeout.
func (l *Log) deleteConsumer(ctx context.Context, name string) {
	if !l.conn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	_ = l.js.DeleteConsumer(ctx, l.name, name)
}

// awaitConsumer returns when the consumer answers. In a cluster another server may have
// created it, and this reader's server learns of it a moment later.
func (l *Log) awaitConsumer(ctx context.Context, name string) error {
	const interval = 10 * time.Millisecond
	pause := backoff.Every(interval)
	for range l.request / interval {
		if err := l.ping(ctx, name); !errors.Is(err, nats.ErrNoResponders) {
			return nil
		}
		if pause.Wait(ctx) != nil {
			return context.Cause(ctx)
		}
	}
	return errConsumerDeleted
}

// keepAlive tells the server that the consumer is needed, until ctx ends (it returns the
// cause) or the server has no such consumer (errConsumerDeleted). It is needed because a
// slow reader sends no request while it works on messages that it already has.
func (l *Log) keepAlive(ctx context.Context, name string) error {
	ticker := time.NewTicker(keepAliveInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if errors.Is(l.ping(ctx, name), nats.ErrNoResponders) {
			return errConsumerDeleted
		}
	}
}

// emptyPull requests a message of at most one byte. No message is that small, so the
// server sends nothing, but it counts the request as a sign of life.
const emptyPull = `{"batch":1,"max_bytes":1,"no_wait":true}`

// ping fails with ErrNoResponders if there is no such consumer.
func (l *Log) ping(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, keepAliveInterval)
	defer cancel()
	_, err := l.conn.RequestWithContext(ctx, "$JS.API.CONSUMER.MSG.NEXT."+l.name+"."+name, []byte(emptyPull))
	return err
}
