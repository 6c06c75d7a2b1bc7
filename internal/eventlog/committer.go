package eventlog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// committer confirms appends in groups: one flush makes everything durable that
// the server has answered before it, and only then is each delivery told its own
// result. Nothing waits for a timer: a flush begins as soon as there is an answer
// and the flush before has ended, so one delivery alone is flushed at once, and
// the more are under way the more share a flush.
//
//	append ──publish──▶ server ──answered──▶ waiting ──flush──▶ result
//
// An answer of the server, duplicates included, counts only after a flush that
// began after it. An error needs no flush. After a failed flush nothing is
// confirmed any more: what a second one says cannot be trusted.
type committer struct {
	backend
	wake  chan struct{} // holds one token while somebody waits for a flush
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex
	waiting []*entry // answered by the server, for the next flush
	seen    uint64   // the newest sequence the server has answered
	durable uint64   // the newest sequence known to be durable

	broken chan struct{} // closed when failed is set
	failed error
}

// backend is what the committer needs of the log's server and of its disk.
type backend interface {
	// publish sends the entry's message without waiting. The server's answer goes
	// to e.answer, at most once.
	publish(e *entry) error
	// forget is called for an entry whose answer nobody waits for any longer.
	forget(e *entry)
	// flush makes everything durable that the server had answered when it was called,
	// seq being the newest of that.
	flush(seq uint64) error
}

// entry is one append, or one reader's question, under way.
type entry struct {
	message   *nats.Msg // nil: a question
	number    uint64    // the backend's own
	committer *committer
	result    chan struct{} // closed when the fields below are final

	seq       uint64
	duplicate bool
	err       error
}

// appends is false for a reader's question.
func (e *entry) appends() bool { return e.message != nil }

var (
	errClosed = errors.New("the log is closed")
	errFailed = errors.New("the log cannot store any more")
)

// newCommitter returns a running committer.
func newCommitter(b backend) *committer {
	c := &committer{
		backend: b, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}), broken: make(chan struct{}),
	}
	go c.run()
	return c
}

// append publishes the message and returns when it is durable. After an error
// the message may or may not be in the log.
func (c *committer) append(ctx context.Context, m *nats.Msg) (duplicate bool, err error) {
	e := &entry{message: m, committer: c, result: make(chan struct{})}
	if err := c.failure(); err != nil {
		return false, err
	}
	if err := c.publish(e); err != nil {
		return false, err
	}
	if err := c.await(ctx, e); err != nil {
		c.forget(e)
		return false, err
	}
	return e.duplicate, nil
}

// confirm returns when the message at seq, which the server has shown to a
// reader, is durable; up to which sequence everything is, then. Who asks for what
// the server has not shown deceives himself and nobody else.
func (c *committer) confirm(ctx context.Context, seq uint64) (uint64, error) {
	c.mu.Lock()
	durable := c.durable
	c.mu.Unlock()
	if seq > durable {
		e := &entry{committer: c, result: make(chan struct{})}
		e.answer(seq, false, nil)
		if err := c.await(ctx, e); err != nil {
			return 0, err
		}
		c.mu.Lock()
		durable = max(c.durable, seq)
		c.mu.Unlock()
	}
	return durable, c.failure()
}

func (c *committer) await(ctx context.Context, e *entry) error {
	select {
	case <-e.result:
		return e.err
	case <-c.broken:
		return c.failure()
	case <-c.ended:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer takes the server's word for e.
func (e *entry) answer(seq uint64, duplicate bool, err error) {
	e.seq, e.duplicate, e.err = seq, duplicate, err
	if err != nil {
		close(e.result)
		return
	}
	e.committer.wait(e)
}

func (c *committer) wait(e *entry) {
	c.mu.Lock()
	c.waiting = append(c.waiting, e)
	if e.appends() {
		c.seen = max(c.seen, e.seq)
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // the flush to come takes it along
	}
}

// begin says that everything up to seq was durable before anything was appended.
func (c *committer) begin(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.durable = max(c.seen, seq), max(c.durable, seq)
}

func (c *committer) run() {
	defer close(c.ended)
	for {
		select {
		case <-c.wake:
		case <-c.stop:
			return
		}
		// Who can publish or take an answer right now does so first, and shares the
		// flush. Where nobody can, this is no wait at all.
		runtime.Gosched()
		if err := c.commit(); err != nil {
			c.fail(err)
			return
		}
	}
}

// commit flushes once for all who wait now.
func (c *committer) commit() error {
	c.mu.Lock()
	group, seen := c.waiting, c.seen
	c.waiting = nil
	c.mu.Unlock()
	if len(group) == 0 {
		return nil // the flush before took them along
	}
	err := c.flush(seen)
	if errors.Is(err, blockstore.ErrNoBlock) && !slices.ContainsFunc(group, (*entry).appends) {
		for _, e := range group { // questions about a log without any message
			e.err = err
			close(e.result)
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.durable = seen
	// Readers that asked meanwhile for what this flush covers need no other.
	rest := c.waiting[:0]
	for _, e := range c.waiting {
		if !e.appends() && e.seq <= seen {
			group = append(group, e)
		} else {
			rest = append(rest, e)
		}
	}
	c.waiting = rest
	c.mu.Unlock()
	for _, e := range group {
		close(e.result)
	}
	return nil
}

// fail ends all confirmation, for good.
func (c *committer) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = fmt.Errorf("%w: %w", errFailed, err)
		close(c.broken)
	}
}

func (c *committer) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// close ends the committer; what is not confirmed by then is not confirmed at all.
func (c *committer) close() {
	c.once.Do(func() { close(c.stop) })
	<-c.ended
}
