package live

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
)

// maxPendingBytes bounds the bodies that are read ahead and not applied yet.
const maxPendingBytes = 32 << 20

// idleInterval is how often the checkpoints of partitions without messages move. So a restart does
// not read old messages again.
const idleInterval = time.Second

// follow reads the log from the least position of the share and applies batch after batch.
// It returns nil when ctx ends, and an error at the first fault.
func (p *Projector) follow(ctx context.Context, logID string, share []int, at identity.Positions) error {
	if len(share) == 0 {
		<-ctx.Done()
		return nil
	}
	f := newFollower(p, logID, share, at)
	from := f.delivered + 1
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := p.Log.Read(working, from, func(m events.Message, traceParent string) error {
			return f.receive(working, m, traceParent)
		})
		return cmp.Or(err, errStopped)
	})
	group.Go(func() error { return f.apply(working) })
	err := group.Wait()
	p.noteReached(f.at)
	if ctx.Err() == nil {
		return err
	}
	return nil
}

var errStopped = errors.New("stopped")

// message is a message of the log, with the span of its delivery.
type message struct {
	events.Message
	delivery *trace.SpanContext // nil if the span is not recorded or there are no traces
}

// follower applies the messages of one share.
type follower struct {
	projector *Projector
	logID     string
	mine      []bool // by partition: whether it is in the share
	messages  chan message
	dropped   dropped // messages of other partitions
	budget    *semaphore.Weighted

	// Only the goroutine of apply uses these.
	at          map[int]uint64 // positions of the share
	delivered   uint64         // the newest message applied or dropped
	digest      []byte         // of that message
	advancedAll time.Time      // when all positions last moved
	backlog     backlog        // nil unless batches are applied through it
	writing     *foldedBatch   // the batch of the backlog that is being written; nil if none
	written     chan error     // the result of that
}

// newFollower returns a follower of a share, which must not be empty. at has the positions of all
// partitions.
func newFollower(p *Projector, logID string, share []int, at identity.Positions) *follower {
	f := &follower{
		projector: p, logID: logID, mine: make([]bool, len(at)), messages: make(chan message, p.BatchSize),
		budget: semaphore.NewWeighted(maxPendingBytes), at: map[int]uint64{}, delivered: at.LowestOf(share), written: make(chan error, 1),
	}
	for _, partition := range share {
		f.at[partition], f.mine[partition] = at[partition], true
	}
	return f
}

// receive takes a message of the log and copies its body.
func (f *follower) receive(ctx context.Context, m events.Message, traceParent string) error {
	if m.Partition < 0 || m.Partition >= len(f.mine) {
		return fmt.Errorf("the message at seq %d is in partition %d of %d", m.Seq, m.Partition, len(f.mine))
	}
	if !f.mine[m.Partition] {
		f.dropped.add(m)
		return nil
	}
	if err := f.budget.Acquire(ctx, int64(len(m.Body))); err != nil {
		return err
	}
	m.Body = bytes.Clone(m.Body)
	select {
	case f.messages <- f.projector.traced(m, traceParent):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *follower) apply(ctx context.Context) error {
	ticker := time.NewTicker(idleInterval)
	defer ticker.Stop()
	defer f.awaitWrite()
	for {
		var written <-chan error // nil while nothing is written, so that select ignores it
		if f.writing != nil {
			written = f.written
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-written:
			err = f.endWrite(ctx, err)
		case m := <-f.messages:
			err = f.applyNext(ctx, f.collect(m))
		case <-ticker.C:
			err = f.idle(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// idle moves the positions of partitions without messages if nothing is to be done. Rows in memory are
// dropped, because somebody could edit the tables while no messages wait.
func (f *follower) idle(ctx context.Context) error {
	if f.writing != nil || len(f.messages) > 0 {
		return nil
	}
	f.backlog = nil
	return f.applyBatch(ctx, f.withDropped(nil))
}

// applyNext applies a batch. It uses the backlog if many messages wait and no other projector has a
// partition.
func (f *follower) applyNext(ctx context.Context, batch []message) error {
	if f.isBacklog(batch) && f.mayUseBacklog() {
		return f.applyBacklog(ctx, batch)
	}
	if err := f.endBacklog(ctx); err != nil {
		return err
	}
	return f.applyBatch(ctx, batch)
}

// release lets other messages be read ahead instead of these.
func (f *follower) release(batch []message) {
	for _, m := range batch {
		if f.mine[m.Partition] {
			f.budget.Release(int64(len(m.Body)))
		}
	}
}

// collect returns the first message with the messages that have arrived already. It does
// not wait for more.
func (f *follower) collect(first message) []message {
	batch := []message{first}
	for len(batch) < f.projector.BatchSize {
		select {
		case m := <-f.messages:
			batch = append(batch, m)
		default:
			return f.withDropped(batch)
		}
	}
	return batch
}

// withDropped appends the newest dropped message to the batch, unless an earlier message of the
// share still waits.
func (f *follower) withDropped(batch []message) []message {
	newest := f.dropped.newest() // read first: every earlier message has been received by now
	after := f.delivered
	if len(batch) > 0 {
		after = batch[len(batch)-1].Seq
	}
	if newest.Seq > after && len(f.messages) == 0 {
		batch = append(batch, message{Message: newest})
	}
	return batch
}

// applyBatch applies the messages of the share and drops the others. A batch that the
// database refuses is halved until the event at fault is found. That event is quarantined
// if the database refuses it again; the others are applied.
func (f *follower) applyBatch(ctx context.Context, batch []message) error {
	_, err := f.applyFresh(ctx, batch, false)
	var refused *store.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	middle := len(batch) / 2
	if middle == 0 {
		return f.applyRefused(ctx, batch, refused)
	}
	if err := f.applyBatch(ctx, batch[:middle]); err != nil {
		return err
	}
	return f.applyBatch(ctx, batch[middle:])
}

// applyTimeout bounds one transaction, so that a frozen database does not block the loop. The
// transaction may wait for a promotion first.
const applyTimeout = store.HoldTimeout + 5*time.Second

// applyFresh applies the messages of the share that are not applied yet and drops the others, in one transaction.
// quarantine says that there is one of them, which the database has refused; cause is then why it was quarantined, or
// nil if it was applied.
func (f *follower) applyFresh(ctx context.Context, batch []message, quarantine bool) (cause, err error) {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	p, began := f.projector, time.Now()
	fresh, from := f.fresh(batch)
	delivered, digest := f.delivered, f.digest
	if len(batch) > 0 {
		last := batch[len(batch)-1]
		delivered, digest = last.Seq, last.Digest()
	}
	moveAll := began.Sub(f.advancedAll) >= idleInterval || f.isBacklog(batch)
	if moveAll {
		for partition, position := range f.at {
			if position < delivered {
				from[partition] = position
			}
		}
	}
	if len(from) == 0 && moveAll { // no transaction detects that the database has lost commits
		if err := f.checkPositions(ctx); err != nil {
			return nil, err
		}
	}
	if len(from) > 0 {
		advance := store.Advance{LogID: f.logID, From: from, To: delivered, Digest: digest}
		list := decoded(fresh)
		var result Result
		if quarantine {
			result, cause, err = p.batches.applyOrQuarantine(ctx, p.Rules, list[0], advance)
		} else {
			result, err = p.batches.apply(ctx, p.Rules, list, advance)
		}
		if err != nil {
			return nil, err
		}
		p.observe(ctx, result, began, delivered)
		p.trace(fresh, result, began)
	}
	for partition := range from {
		f.at[partition] = delivered
	}
	f.delivered, f.digest = delivered, digest
	if moveAll {
		f.advancedAll = began
	}
	f.release(batch)
	return cause, nil
}

// checkPositions returns store.ErrFenced if a checkpoint of the share is not where this projector has moved it.
func (f *follower) checkPositions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	checkpoints, err := f.projector.tables.Checkpoints(ctx)
	if err != nil {
		return err
	}
	for _, c := range checkpoints {
		if position, mine := f.at[c.Partition]; mine && c.Position != position {
			return store.ErrFenced
		}
	}
	return nil
}

// fresh returns the messages of the share that are not applied yet, and the positions of their
// partitions.
func (f *follower) fresh(batch []message) (fresh []message, from map[int]uint64) {
	fresh, from = make([]message, 0, len(batch)), map[int]uint64{}
	for _, m := range batch {
		if position, mine := f.at[m.Partition]; mine && m.Seq > position {
			fresh = append(fresh, m)
			from[m.Partition] = position
		}
	}
	return fresh, from
}

func decoded(messages []message) []events.Event {
	batch := make([]events.Event, len(messages))
	for i, m := range messages {
		batch[i] = providers.Decode(m.Message)
	}
	return batch
}

// dropped has the newest message that was dropped because its partition belongs to another
// projector. The zero value has no message. It is safe for concurrent use.
type dropped struct {
	mu      sync.Mutex
	message events.Message
}

// add copies the message.
func (d *dropped) add(m events.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.Body = append(d.message.Body[:0], m.Body...)
	d.message = m
}

// newest returns the message; its sequence is 0 if there is none.
func (d *dropped) newest() events.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.message
	m.Body = bytes.Clone(m.Body)
	return m
}
