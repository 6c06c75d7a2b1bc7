// Package lag counts the messages of the log that the tables do not have.
//
//	count.go    counts them once, by partition
//	tables.go   reads the positions of the tables, and who works on them
//	meter.go    does both regularly
//	metrics.go  shows the result as metrics
package lag

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
)

// Log is what counting needs from the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Waiting(ctx context.Context, partition int, after uint64) (eventlog.Waiting, error)
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// ByPartition is what waits in each partition.
type ByPartition map[int]eventlog.Waiting

// Sum returns what waits in all partitions together.
func (w ByPartition) Sum() (sum eventlog.Waiting) {
	for _, one := range w {
		if one.Count > 0 && (sum.Count == 0 || one.Oldest.ReceivedAt.Before(sum.Oldest.ReceivedAt)) {
			sum.Oldest = one.Oldest
		}
		sum.Count += one.Count
	}
	return sum
}

func (w ByPartition) add(m events.Message) {
	m.Body = nil
	one := w[m.Partition]
	if one.Count == 0 {
		one.Oldest = m
	}
	one.Count++
	w[m.Partition] = one
}

// errCutShort means that the log lacks messages that the tables have.
var errCutShort = errors.New("it ends before what the tables hold: it has lost messages")

const (
	// maxConcurrentQueries bounds the queries to the log at the same time.
	maxConcurrentQueries = 8

	// maxRead is up to how many messages are read, instead of asking about each partition. While
	// projectors work, they are behind by less.
	maxRead = 1000
)

// Count returns what the log has up to info.Last after the position of each partition.
func Count(ctx context.Context, log Log, info eventlog.Info, positions map[int]uint64) (ByPartition, error) {
	for {
		found, err := count(ctx, log, info, positions)
		if err != nil {
			return nil, err
		}
		now, err := log.Info(ctx)
		if err != nil {
			return nil, err
		}
		if now.ServerFirst == info.ServerFirst {
			return found, nil
		}
		info = now // the log was trimmed meanwhile, so count again
	}
}

func count(ctx context.Context, log Log, info eventlog.Info, positions map[int]uint64) (ByPartition, error) {
	least := info.Last
	for _, position := range positions {
		if position > info.Last {
			return nil, errCutShort
		}
		least = min(least, position)
	}
	next := max(least+1, info.First)
	if next+maxRead > info.Last {
		return read(ctx, log, next, info.Last, positions)
	}
	found, err := ask(ctx, log, info.Last, positions)
	if err != nil {
		return nil, err
	}
	removed, err := read(ctx, log, next, info.ServerFirst-1, positions) // these messages are in the archive only
	for partition, before := range removed {
		before.Count += found[partition].Count
		found[partition] = before
	}
	return found, err
}

// ask asks the log's server about each partition. It counts what that server has.
func ask(ctx context.Context, log Log, head uint64, positions map[int]uint64) (ByPartition, error) {
	type answer struct {
		partition int
		waiting   eventlog.Waiting
	}
	answers := make(chan answer, len(positions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentQueries)
	for partition, position := range positions {
		if position == head {
			continue
		}
		group.Go(func() error {
			waiting, err := log.Waiting(ctx, partition, position)
			answers <- answer{partition, waiting}
			return err
		})
	}
	err := group.Wait()
	close(answers)
	found := ByPartition{}
	for a := range answers {
		found[a.partition] = a.waiting
	}
	return found, err
}

// read counts the messages from sequence from to until.
func read(ctx context.Context, log Log, from, until uint64, positions map[int]uint64) (ByPartition, error) {
	found := ByPartition{}
	err := log.ReadUntil(ctx, from, until, func(m events.Message) error {
		if position, known := positions[m.Partition]; known && m.Seq > position {
			found.add(m)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the waiting messages: %w", err)
	}
	return found, nil
}
