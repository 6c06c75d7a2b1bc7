package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// waitingBytes bounds the bodies read ahead, whatever their size.
const waitingBytes = 32 << 20

// idleInterval is how often the positions of partitions without messages move
// on, so that a restart does not read the log again.
const idleInterval = time.Second

// follow reads on from the least position and applies batch after batch, until
// ctx ends or something fails.
func (p *Projector) follow(ctx context.Context, turn *store.Turn, at positions) error {
	f := &follower{
		projector: p, at: at, delivered: at.least(),
		messages: make(chan events.Message, p.BatchSize), room: semaphore.NewWeighted(waitingBytes),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := p.Log.Read(ctx, at.least()+1, func(m events.Message) error { return f.receive(ctx, m) }); err != nil {
			return err
		}
		return errStopped
	})
	group.Go(func() error { return f.apply(ctx, turn) })
	return group.Wait()
}

var errStopped = errors.New("stopped")

type follower struct {
	projector *Projector
	messages  chan events.Message
	room      *semaphore.Weighted

	at        positions // of the apply goroutine, like the rest below
	delivered uint64    // the newest message applied or dropped
	digest    []byte    // of that message
	swept     time.Time // when all positions last moved
}

func (f *follower) receive(ctx context.Context, m events.Message) error {
	if err := f.room.Acquire(ctx, int64(len(m.Body))); err != nil {
		return err
	}
	select {
	case f.messages <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *follower) apply(ctx context.Context, turn *store.Turn) error {
	ticker := time.NewTicker(idleInterval)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-f.messages:
			err = f.applyBatch(ctx, f.waiting(m))
		case <-ticker.C:
			if err = turn.Check(ctx); err == nil {
				err = f.applyBatch(ctx, nil)
			}
		}
		if err != nil {
			return err
		}
	}
}

// waiting is the first message and whatever else is there already: a message
// alone is not held back for others.
func (f *follower) waiting(first events.Message) []events.Message {
	batch := []events.Message{first}
	for len(batch) < f.projector.BatchSize {
		select {
		case m := <-f.messages:
			batch = append(batch, m)
		default:
			return batch
		}
	}
	return batch
}

func (f *follower) applyBatch(ctx context.Context, batch []events.Message) error {
	fresh := make([]events.Event, 0, len(batch))
	from := map[int]uint64{}
	var bytes int64
	for _, m := range batch {
		bytes += int64(len(m.Body))
		if m.Partition < 0 || m.Partition >= len(f.at) {
			return fmt.Errorf("the message at seq %d is in partition %d of %d", m.Seq, m.Partition, len(f.at))
		}
		if m.Seq > f.at[m.Partition] {
			fresh = append(fresh, events.Decode(m))
			from[m.Partition] = f.at[m.Partition]
		}
	}
	if len(batch) > 0 {
		last := batch[len(batch)-1]
		f.delivered, f.digest = last.Seq, last.Digest()
	}
	sweep := time.Since(f.swept) >= idleInterval
	if sweep {
		f.addBehind(from)
	}
	if len(from) > 0 {
		if err := f.write(ctx, fresh, from); err != nil {
			return err
		}
	}
	if sweep {
		f.swept = time.Now()
	}
	f.room.Release(bytes)
	return nil
}

// addBehind adds the partitions that stand before what was delivered.
func (f *follower) addBehind(from map[int]uint64) {
	for partition, position := range f.at {
		if position < f.delivered {
			from[partition] = position
		}
	}
}

// applyTimeout bounds one transaction; a frozen database must not hold the loop.
const applyTimeout = 30 * time.Second

func (f *follower) write(ctx context.Context, batch []events.Event, from map[int]uint64) error {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	p := f.projector
	began := time.Now()
	result, err := p.Store.Apply(ctx, p.Rules, batch, store.Advance{From: from, To: f.delivered, Digest: f.digest})
	if err != nil {
		return err
	}
	for partition := range from {
		f.at[partition] = f.delivered
	}
	p.metrics.observe(result, began, f.delivered)
	return nil
}
