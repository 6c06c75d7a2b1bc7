package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/pipeline"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/rebuild"
)

// errTooConnected means that the events connect too many customers. Only a rebuild folds them
// again.
var errTooConnected = errors.New("the events connect too many customers")

// maxConnected bounds the events that out-of-order events connect. It bounds the memory for
// them, and the time for which live batches wait while rows are replaced.
const maxConnected = 100_000

// maxPasses bounds how often the log is read. One pass finds all connected events that come
// later in the log. Each step to an earlier event takes one more pass.
const maxPasses = 20

// connect adds to customers all connected events from a message on, up to a position of
// each partition. It reads the log again until there are no new names.
func connect(ctx context.Context, log rebuild.Log, from uint64, upto identity.Positions, customers *customers) error {
	for range maxPasses {
		grew, err := connectOnce(ctx, log, from, nil, upto, customers)
		if err != nil || !grew {
			return err
		}
	}
	return fmt.Errorf("%w: after reading the log %d times there are new ones", errTooConnected, maxPasses)
}

// connectOnce reads the log once. It adds the connected events between two positions of their
// partitions: later than the position in after, and not later than the one in upto. It reports
// whether they bring a new name. If after is nil, it adds all up to upto.
func connectOnce(ctx context.Context, log rebuild.Log, from uint64, after, upto identity.Positions, customers *customers) (grew bool, err error) {
	decode := func(to []events.Event, m events.Message) ([]events.Event, error) {
		if m.Partition < 0 || m.Partition >= len(upto) {
			return nil, fmt.Errorf("the message at seq %d is in partition %d of %d", m.Seq, m.Partition, len(upto))
		}
		if m.Seq > upto[m.Partition] || after != nil && m.Seq <= after[m.Partition] {
			return to, nil
		}
		return append(to, providers.Decode(m)), nil
	}
	reading := pipeline.Pipeline{Log: log, From: from, Until: upto.Highest(), Decode: decode}
	err = reading.Run(ctx, func(b *pipeline.Batch) error {
		for _, event := range b.Events {
			grew = customers.add(event) || grew
		}
		if len(customers.events) > maxConnected {
			return fmt.Errorf("%w: more than %d events", errTooConnected, maxConnected)
		}
		return nil
	})
	return grew, err
}
