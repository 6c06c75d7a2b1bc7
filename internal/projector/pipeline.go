package projector

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
)

// What is decoded at once: few enough messages to stay in a core's cache, bounded in
// bytes whatever the size of the bodies.
const (
	decodeMessages = 500
	decodeBytes    = 2 << 20
)

// decodeAhead is how many decoded batches may wait for the fold, which is handed up
// to half of them at once: what it asks the database for a few it can ask for many.
const decodeAhead = 20

// batch is some messages in a row. When it has been folded its memory serves for
// others: a quarter of the work would be to get new memory and to give it back.
type batch struct {
	messages []events.Message
	bodies   []byte         // theirs, one after the other
	events   []events.Event // those to be folded
	digest   []byte         // of the last message
	decoded  chan error
}

// newBatch has room for that many messages of a usual length.
func newBatch(messages uint64) *batch {
	const usual = 1600 // bytes of a body
	return &batch{
		messages: make([]events.Message, 0, messages), bodies: make([]byte, 0, usual*messages),
		events: make([]events.Event, 0, messages), decoded: make(chan error, 1),
	}
}

func (b *batch) add(m events.Message) {
	begin := len(b.bodies)
	b.bodies = append(b.bodies, m.Body...)
	m.Body = b.bodies[begin:len(b.bodies):len(b.bodies)]
	b.messages = append(b.messages, m)
}

func (b *batch) seq() uint64 { return b.last().Seq }

func (b *batch) last() events.Message { return b.messages[len(b.messages)-1] }

func (b *batch) clear() { b.messages, b.bodies, b.events = b.messages[:0], b.bodies[:0], b.events[:0] }

// decoder appends the message's event to others, unless it is not to be folded.
type decoder func(to []events.Event, m events.Message) ([]events.Event, error)

func (b *batch) decode(decode decoder) (err error) {
	b.digest = b.last().Digest()
	for _, m := range b.messages {
		if b.events, err = decode(b.events, m); err != nil {
			return err
		}
	}
	return nil
}

// pipeline reads messages and decodes them on all cores.
type pipeline struct {
	log         log
	from, until uint64
	most        uint64  // of them are handed on at once
	decode      decoder // called by several at a time
}

// run hands the events to fold, in the order of the log. It returns when fold has
// had the last, or with the first error. Batches are fold's until it returns.
func (p pipeline) run(ctx context.Context, fold func([]*batch) error) error {
	if p.from > p.until {
		return nil
	}
	size := min(p.most, decodeMessages, p.until-p.from+1)
	decoders := runtime.GOMAXPROCS(0)
	batches := 1 + decoders + decodeAhead // one is read
	free, work, order := make(chan *batch, batches), make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		free <- newBatch(size)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(work)
		defer close(order)
		return p.read(ctx, size, free, func(b *batch) {
			order <- b
			work <- b
		})
	})
	for range decoders {
		group.Go(func() error {
			for b := range work {
				b.decoded <- b.decode(p.decode)
			}
			return nil
		})
	}
	group.Go(func() error {
		next := queue{order: order, most: min(p.most/size, decodeAhead/2)}
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

// queue gives out batches in their order.
type queue struct {
	order <-chan *batch
	most  uint64 // at once
	first *batch // of the next, which was not decoded yet; may be nil
	err   error  // behind which there are no more
}

// take waits for a batch that is decoded and returns it, with those behind it that
// are decoded already. It returns none when there are no more.
func (q *queue) take() (some []*batch, err error) {
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
		if some = append(some, b); uint64(len(some)) == q.most {
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

// read hands over every batch that it has filled, of those that are free.
func (p pipeline) read(ctx context.Context, size uint64, free <-chan *batch, hand func(*batch)) error {
	filling := <-free
	return p.log.ReadUntil(ctx, p.from, p.until, func(m events.Message) error {
		filling.add(m)
		if m.Seq < p.until && uint64(len(filling.messages)) < size && len(filling.bodies) < decodeBytes {
			return nil
		}
		hand(filling)
		if m.Seq == p.until {
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
