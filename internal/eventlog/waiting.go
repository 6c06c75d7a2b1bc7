package eventlog

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/events"
)

// Waiting describes the messages of a partition after a position.
type Waiting struct {
	Count  uint64
	Oldest events.Message // without its body; the zero Message if Count is 0
}

// Waiting counts the messages of a partition after a position, without reading them all.
func (l *Log) Waiting(ctx context.Context, partition int, after uint64) (out Waiting, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	config := jetstream.ConsumerConfig{
		FilterSubject: subject(partition),
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		HeadersOnly: true,
	}
	err = l.withConsumer(ctx, config, func(ctx context.Context, consumer jetstream.Consumer) error {
		if out.Count = consumer.CachedInfo().NumPending; out.Count == 0 {
			return nil
		}
		first, err := consumer.Next(jetstream.FetchContext(ctx))
		if err == nil {
			out.Oldest, _, err = decode(first)
		}
		return err
	})
	if err != nil {
		return Waiting{}, fmt.Errorf("count the messages of partition %d: %w", partition, err)
	}
	return out, nil
}
