package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/pipeline"
	"github.com/payfold/payfold/internal/rebuild"
)

// errTooConnected: out-of-order events connect so many customers that a rebuild is the
// way to settle them.
var errTooConnected = errors.New("out-of-order events connect too many customers")

// maxConnected bounds the memory for the events that out-of-order ones connect, and the
// time for which live batches wait while their customers' rows are replaced.
const maxConnected = 100_000

// maxPasses bounds how often the log is read: names lead forward in one pass, and
// backward in one pass more each time.
const maxPasses = 20

// connect reads the log from a message on, up to where each partition stands, again and
// again until the customers bring no new names.
func connect(ctx context.Context, log rebuild.Log, from uint64, upto identity.Positions, customers *customers) error {
	for range maxPasses {
		grew, err := connectOnce(ctx, log, from, nil, upto, customers)
		if err != nil || !grew {
			return err
		}
	}
	return fmt.Errorf("%w: after reading the log %d times there are new ones", errTooConnected, maxPasses)
}

// connectOnce reads the messages once that lie behind after and up to upto, partition by
// partition, and says whether the customers brought a new name.
func connectOnce(ctx context.Context, log rebuild.Log, from uint64, after, upto identity.Positions, customers *customers) (grew bool, err error) {
	decode := func(to []events.Event, m events.Message) ([]events.Event, error) {
		if m.Partition < 0 || m.Partition >= len(upto) {
			return nil, fmt.Errorf("the message at seq %d is in partition %d of %d", m.Seq, m.Partition, len(upto))
		}
		if m.Seq > upto[m.Partition] || after != nil && m.Seq <= after[m.Partition] {
			return to, nil
		}
		return append(to, events.Decode(m)), nil
	}
	err = pipeline.ReadEvents(ctx, log, from, upto.Most(), decode, func(some []events.Event) error {
		for _, event := range some {
			grew = customers.Add(event) || grew
		}
		if customers.Len() > maxConnected {
			return fmt.Errorf("%w: more than %d events", errTooConnected, maxConnected)
		}
		return nil
	})
	return grew, err
}
