package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/events"
)

// Waiting is what a partition holds after a position.
type Waiting struct {
	Count  uint64
	Oldest events.Message // without its body; the zero Message where Count is 0
}

// askTime bounds one question to the server, and how long it keeps a reader
// that is gone.
const askTime = 5 * time.Second

// Waiting says what a partition holds after a position, without reading it.
func (l *Log) Waiting(ctx context.Context, partition int, after uint64) (Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	consumer, err := l.js.CreateConsumer(ctx, l.name, jetstream.ConsumerConfig{
		FilterSubject: subject(partition),
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: askTime,
	})
	if err != nil {
		return Waiting{}, fmt.Errorf("look into partition %d: %w", partition, err)
	}
	defer func() { _ = l.js.DeleteConsumer(ctx, l.name, consumer.CachedInfo().Name) }() // else it times out
	out := Waiting{Count: consumer.CachedInfo().NumPending}
	if out.Count == 0 {
		return out, nil
	}
	first, err := consumer.Next(jetstream.FetchContext(ctx))
	if err != nil {
		return Waiting{}, fmt.Errorf("read the oldest message of partition %d: %w", partition, err)
	}
	out.Oldest, _, err = decode(first)
	return out, err
}
