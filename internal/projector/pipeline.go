package projector

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
)

// What is decoded at once: enough that hand-overs cost nothing, bounded in
// bytes whatever the size of the bodies.
const (
	decodeMessages = 5000
	decodeBytes    = 16 << 20
)

// decodeAhead is how much waits for the fold, in decoded batches.
const decodeAhead = 4

// decoded is some messages in a row.
type decoded struct {
	seq    uint64         // of the last
	digest []byte         // of the last
	events []events.Event // of those that were chosen
}

// decodeAll reads the messages from one sequence up to another, decodes those
// that choose wants on all cores and hands them to fold, in the order of the log, at
// most that many at once. It returns when fold has had the last, or with the first error.
func decodeAll(ctx context.Context, log log, from, until, most uint64, choose func(events.Message) (bool, error), fold func(decoded) error) error {
	if from > until {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	p := pipeline{choose: choose, order: make(chan chan decoded, decodeAhead), work: make(chan job)}
	group.Go(func() error { return p.read(ctx, log, from, until, most) })
	for range runtime.GOMAXPROCS(0) {
		group.Go(p.decode)
	}
	group.Go(func() error {
		for result := range p.order {
			batch, whole := <-result
			if !whole {
				return nil // who closed it has the error
			}
			if err := fold(batch); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

type pipeline struct {
	choose func(events.Message) (bool, error) // by several at a time
	order  chan chan decoded                  // the results to come
	work   chan job
}

type job struct {
	messages []events.Message
	result   chan decoded // has room for it
}

func (p *pipeline) decode() error {
	for j := range p.work {
		last := j.messages[len(j.messages)-1]
		out := decoded{seq: last.Seq, digest: last.Digest(), events: make([]events.Event, 0, len(j.messages))}
		for _, m := range j.messages {
			chosen, err := p.choose(m)
			if err != nil {
				close(j.result)
				return err
			}
			if chosen {
				out.events = append(out.events, events.Decode(m))
			}
		}
		j.result <- out
	}
	return nil
}

func (p *pipeline) read(ctx context.Context, log log, from, until, most uint64) error {
	defer close(p.order)
	defer close(p.work)
	waiting, bytes := []events.Message(nil), 0
	return log.ReadUntil(ctx, from, until, func(m events.Message) error {
		waiting, bytes = append(waiting, m), bytes+len(m.Body)
		if m.Seq < until && uint64(len(waiting)) < min(most, decodeMessages) && bytes < decodeBytes {
			return nil
		}
		some := waiting
		waiting, bytes = make([]events.Message, 0, decodeMessages), 0
		return p.hand(ctx, some)
	})
}

func (p *pipeline) hand(ctx context.Context, messages []events.Message) error {
	j := job{messages, make(chan decoded, 1)}
	select {
	case p.order <- j.result:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case p.work <- j:
		return nil
	case <-ctx.Done():
		// A result that was announced must come.
		close(j.result)
		return ctx.Err()
	}
}
