// Package pipeline reads a part of the log and decodes it on all cores, in the order of the log.
package pipeline

import (
	"cmp"
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
)

// decodeAhead is how many batches may be decoded or read before they are taken, beside one for each decoder.
const decodeAhead = 8

// Log is what a Pipeline needs of the event log.
type Log interface {
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// Pipeline reads the messages From to Until and decodes them on all cores.
type Pipeline struct {
	Log         Log
	From, Until uint64
	MaxMessages uint64  // in one batch; 0: decodeMessages, which fit in a core's cache
	Decode      Decoder // called concurrently
}

// Run calls take with one batch after the other, in the order of the log, while the next ones are read and decoded.
// take must not keep a batch after it returns. Run returns the first error when everything has ended. Batches before
// one that cannot be decoded are taken.
func (p Pipeline) Run(ctx context.Context, take func(*Batch) error) error {
	if p.From > p.Until {
		return nil
	}
	size := min(cmp.Or(p.MaxMessages, decodeMessages), p.Until-p.From+1)
	decoders := runtime.GOMAXPROCS(0)
	batches := decoders + decodeAhead
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
		for b := range order {
			if err := <-b.decoded; err != nil {
				return err
			}
			if err := take(b); err != nil {
				return err
			}
			b.clear()
			free <- b
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

const (
	decodeMessages = 500
	decodeBytes    = 2 << 20 // of bodies, which can be large; the last one of a batch may make it longer
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
