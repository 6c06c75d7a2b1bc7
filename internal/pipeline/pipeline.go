// Package pipeline reads a part of the log and decodes it on all cores, in the order of the log.
package pipeline

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
)

// One call folds up to foldTogether batches, so that the rows of many events can be read with one query. decodeAhead is
// how many decoded batches may wait: those of the current call, of the next call, and of the call after it.
const (
	foldTogether = 10
	decodeAhead  = 3 * foldTogether
)

// Log is what a Pipeline needs of the event log.
type Log interface {
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// ReadEvents reads messages, decodes them on all cores, and calls take with the events in the
// order of the log. take must not keep them after it returns.
func ReadEvents(ctx context.Context, log Log, from, until uint64, decode Decoder, take func([]events.Event) error) error {
	reading := Pipeline{Log: log, From: from, Until: until, MaxMessages: decodeMessages * foldTogether, Decode: decode}
	return reading.Run(ctx, func(some []*Batch) func() error {
		return func() error {
			for _, b := range some {
				if err := take(b.Events); err != nil {
					return err
				}
			}
			return nil
		}
	})
}

// Pipeline reads the messages From to Until and decodes them on all cores.
type Pipeline struct {
	Log         Log
	From, Until uint64
	MaxMessages uint64  // in one call
	Decode      Decoder // called concurrently
}

// Run calls prepare with some batches at a time, in the order of the log. It calls the returned
// functions in the same order, one at a time. It calls prepare while an earlier function runs. A
// function must not keep a batch after it returns. Run returns the first error when all functions
// have ended. It still folds the batches before one that cannot be read or decoded.
func (p Pipeline) Run(ctx context.Context, prepare func([]*Batch) (fold func() error)) error {
	if p.From > p.Until {
		return nil
	}
	size := min(p.MaxMessages, decodeMessages, p.Until-p.From+1)
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
	type prepared struct {
		batches []*Batch
		fold    func() error
	}
	ready, folded := make(chan prepared), make(chan struct{})
	group.Go(func() error {
		defer close(ready)
		next := queue{order: order, maxBatches: min(p.MaxMessages/size, foldTogether)}
		for {
			some, err := next.take()
			if err != nil || len(some) == 0 {
				return err
			}
			select {
			case ready <- prepared{some, prepare(some)}:
			case <-folded:
				return nil
			}
		}
	})
	group.Go(func() error {
		defer close(folded)
		for next := range ready {
			if err := next.fold(); err != nil {
				return err
			}
			for _, b := range next.batches {
				b.clear()
				free <- b
			}
		}
		return nil
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

// queue returns decoded batches in the order of the log.
type queue struct {
	order      <-chan *Batch
	maxBatches uint64 // batches in one call of take
	first      *Batch // received by the last take, but not decoded then; may be nil
	err        error  // of the batch after those that were returned
}

// take waits until the next batch is decoded. It returns this batch and the following ones that are
// already decoded. At the end it returns none.
func (q *queue) take() (some []*Batch, err error) {
	if q.err != nil {
		return nil, q.err
	}
	b := q.first
	if b == nil {
		b = <-q.order
	}
	for q.first = nil; b != nil; {
		if q.err = <-b.decoded; q.err != nil {
			break
		}
		if some = append(some, b); uint64(len(some)) == q.maxBatches {
			return some, nil
		}
		select {
		case b = <-q.order:
		default:
			return some, nil
		}
		if b != nil && len(b.decoded) == 0 {
			q.first = b
			return some, nil
		}
	}
	if len(some) > 0 {
		return some, nil
	}
	return nil, q.err
}

// A batch is small enough for a core's cache. Its size in bytes is limited, too, because
// bodies can be large.
const (
	decodeMessages = 500
	decodeBytes    = 2 << 20
)

// Batch has consecutive messages. Its memory is reused for later batches: its allocation and
// garbage collection would take a quarter of the CPU time.
type Batch struct {
	messages []events.Message
	bodies   []byte         // the bodies of messages, one after the other
	Events   []events.Event // from the Decoder
	Digest   []byte         // of the last message
	decoded  chan error
}

// newBatch returns a batch with room for this many messages of the usual length.
func newBatch(messages uint64) *Batch {
	const usual = 1600 // bytes of a body
	return &Batch{
		messages: make([]events.Message, 0, messages), bodies: make([]byte, 0, usual*messages),
		Events: make([]events.Event, 0, messages), decoded: make(chan error, 1),
	}
}

func (b *Batch) add(m events.Message) {
	begin := len(b.bodies)
	b.bodies = append(b.bodies, m.Body...)
	m.Body = b.bodies[begin:len(b.bodies):len(b.bodies)]
	b.messages = append(b.messages, m)
}

// Seq is the sequence of the last message.
func (b *Batch) Seq() uint64 { return b.last().Seq }

func (b *Batch) last() events.Message { return b.messages[len(b.messages)-1] }

func (b *Batch) clear() { b.messages, b.bodies, b.Events = b.messages[:0], b.bodies[:0], b.Events[:0] }

// Decoder appends the event of a message to a slice. To leave the event out, it returns the slice
// unchanged.
type Decoder func(to []events.Event, m events.Message) ([]events.Event, error)

func (b *Batch) decode(decode Decoder) (err error) {
	b.Digest = b.last().Digest()
	for _, m := range b.messages {
		if b.Events, err = decode(b.Events, m); err != nil {
			return err
		}
	}
	return nil
}
