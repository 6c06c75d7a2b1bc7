package pipeline

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
)

// decodeAhead is how many decoded batches may wait for the fold. It gets up to half of them in
// one call, so that it can load the rows of many events with one query.
const decodeAhead = 20

// Log is what a Pipeline needs of the event log.
type Log interface {
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// ReadEvents reads messages, decodes them on all cores, and calls take with the events in the
// order of the log. take must not keep them after it returns.
func ReadEvents(ctx context.Context, log Log, from, until uint64, decode Decoder, take func([]events.Event) error) error {
	reading := Pipeline{Log: log, From: from, Until: until, Most: decodeMessages * decodeAhead, Decode: decode}
	return reading.Run(ctx, func(some []*Batch) error {
		for _, b := range some {
			if err := take(b.Events); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pipeline reads the messages From to Until and decodes them on all cores.
type Pipeline struct {
	Log         Log
	From, Until uint64
	Most        uint64  // messages in one call of fold
	Decode      Decoder // called concurrently
}

// Run calls fold with all batches, in the order of the log, and returns the first error. fold
// must not keep a batch after it returns.
func (p Pipeline) Run(ctx context.Context, fold func([]*Batch) error) error {
	if p.From > p.Until {
		return nil
	}
	size := min(p.Most, decodeMessages, p.Until-p.From+1)
	decoders := runtime.GOMAXPROCS(0)
	batches := 1 + decoders + decodeAhead // one is being read
	free, work, order := make(chan *Batch, batches), make(chan *Batch, batches), make(chan *Batch, batches)
	for range batches {
		free <- newBatch(size)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(work)
		defer close(order)
		return p.read(ctx, size, free, func(b *Batch) {
			order <- b
			work <- b
		})
	})
	for range decoders {
		group.Go(func() error {
			for b := range work {
				b.decoded <- b.decode(p.Decode)
			}
			return nil
		})
	}
	group.Go(func() error {
		next := queue{order: order, most: min(p.Most/size, decodeAhead/2)}
		for {
			some, err := next.take()
			if err != nil || len(some) == 0 {
				return err
			}
			if err := fold(some); err != nil {
				return err
			}
			for _, b := range some {
				b.clear()
				free <- b
			}
		}
	})
	return group.Wait()
}

// read fills free batches and calls hand with each.
func (p Pipeline) read(ctx context.Context, size uint64, free <-chan *Batch, hand func(*Batch)) error {
	filling := <-free
	return p.Log.ReadUntil(ctx, p.From, p.Until, func(m events.Message) error {
		filling.add(m)
		if m.Seq < p.Until && uint64(len(filling.messages)) < size && len(filling.bodies) < decodeBytes {
			return nil
		}
		hand(filling)
		if m.Seq == p.Until {
			return nil
		}
		select {
		case filling = <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}
