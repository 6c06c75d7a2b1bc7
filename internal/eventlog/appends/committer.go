package appends

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
)

// Committer confirms appends in groups. One flush makes everything durable that the
// server acknowledged before the flush began; after it, each delivery gets its own
// result. There is no timer: a flush begins as soon as an answer is waiting and the
// previous flush has ended. So a single delivery is flushed at once, and with many
// deliveries in flight many share one flush.
//
//	append ──publish──▶ server ──answered──▶ waiting ──flush──▶ result
//
// A positive answer of the server, also one about a duplicate, is confirmed only after a
// flush that began after the answer. An error is returned without a flush. After a failed
// flush nothing is confirmed any more, because a second fsync can report success although
// data is lost.
type Committer struct {
	Metrics
	server
	flush func(seq uint64) error
	wake  chan struct{} // holds one token while an entry waits for a flush
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex
	waiting []*entry // the server has answered them; the next flush covers them
	seen    uint64   // the newest sequence that the server has acknowledged
	durable uint64   // the newest sequence that is known to be durable

	broken chan struct{} // closed when failed is set
	failed error
}

// server is what the committer needs from the log's server.
type server interface {
	// publish sends the entry's message and does not wait. It passes the server's
	// answer to e.answer later, at most once.
	publish(e *entry) error
	// forget drops an entry whose append has given up waiting.
	forget(e *entry)
}

// entry is one append in progress, or one reader's question whether a sequence is durable.
type entry struct {
	message   *wire.Message // nil for a question, and after a positive answer
	question  bool          // of a reader
	number    uint64        // set and used by the server
	committer *Committer
	result    chan struct{} // closed when the fields below are final

	seq       uint64
	duplicate bool
	err       error
}

// appends reports whether the entry is an append, not a reader's question.
func (e *entry) appends() bool { return !e.question }

var (
	errClosed = errors.New("the log is closed")
	errFailed = errors.New("the log cannot store any more")
)

// NewCommitter starts a committer; Close ends it. flush makes everything durable that the server
// had acknowledged when flush was called; seq is the newest acknowledged sequence.
func NewCommitter(s server, flush func(seq uint64) error) *Committer {
	c := &Committer{
		Metrics: newMetrics(), server: s, flush: flush,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}), broken: make(chan struct{}),
	}
	go c.run()
	return c
}

// Append publishes the message and returns when it is durable. After an error
// the message may or may not be in the log.
func (c *Committer) Append(ctx context.Context, m *wire.Message) (duplicate bool, err error) {
	e, began := &entry{message: m, committer: c, result: make(chan struct{})}, time.Now()
	if err := c.Failure(); err != nil {
		return false, err
	}
	if err := c.publish(e); err != nil {
		return false, err
	}
	if err := c.await(ctx, e); err != nil {
		c.forget(e)
		return false, err
	}
	c.AppendDuration.Observe(time.Since(began).Seconds())
	return e.duplicate, nil
}

// Confirm returns when the message at seq is durable. The result is a sequence, seq or a
// newer one, up to which everything is durable. The server must have delivered that
// message to a reader already. Asking about a sequence that was never delivered gives a
// wrong answer to the caller only.
func (c *Committer) Confirm(ctx context.Context, seq uint64) (uint64, error) {
	c.mu.Lock()
	durable := c.durable
	c.mu.Unlock()
	if seq > durable {
		e := &entry{question: true, committer: c, result: make(chan struct{})}
		e.answer(seq, false, nil)
		if err := c.await(ctx, e); err != nil {
			return 0, err
		}
		c.mu.Lock()
		durable = max(c.durable, seq)
		c.mu.Unlock()
	}
	return durable, c.Failure()
}

func (c *Committer) await(ctx context.Context, e *entry) error {
	select {
	case <-e.result:
		return e.err
	case <-c.broken:
		return c.Failure()
	case <-c.ended:
		return errClosed
	case <-ctx.Done():
		c.drop(e)
		return ctx.Err()
	}
}

// drop removes an entry that nobody waits for any more from the entries that wait for a flush.
// Otherwise their number would grow while a flush hangs.
func (c *Committer) drop(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *entry) bool { return other == e })
}

// answer records the server's answer for e.
func (e *entry) answer(seq uint64, duplicate bool, err error) {
	e.seq, e.duplicate, e.err = seq, duplicate, err
	if err != nil {
		close(e.result)
		return
	}
	e.message = nil // a flush that hangs must not keep the bodies of deliveries that gave up
	e.committer.wait(e)
}

func (c *Committer) wait(e *entry) {
	c.mu.Lock()
	c.waiting = append(c.waiting, e)
	if e.appends() {
		c.seen = max(c.seen, e.seq)
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // a flush is already due and covers this entry too
	}
}

// Begin records that everything up to seq was durable before the first append.
func (c *Committer) Begin(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.durable = max(c.seen, seq), max(c.durable, seq)
}

func (c *Committer) run() {
	defer close(c.ended)
	for {
		select {
		case <-c.wake:
		case <-c.stop:
			return
		}
		// Goroutines that can publish or receive an answer right now run first, and share
		// the flush. If there is none, Gosched returns at once.
		runtime.Gosched()
		if err := c.commit(); err != nil {
			c.Fail(err)
			return
		}
	}
}

// commit flushes once for all entries that wait now.
func (c *Committer) commit() error {
	c.mu.Lock()
	group, seen := c.waiting, c.seen
	c.waiting = nil
	c.mu.Unlock()
	if len(group) == 0 {
		return nil // the previous flush covered them
	}
	began := time.Now()
	err := c.flush(seen)
	if errors.Is(err, blockstore.ErrNoBlock) && !slices.ContainsFunc(group, (*entry).appends) {
		for _, e := range group { // the log is empty, and these are only questions
			e.err = err
			close(e.result)
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.observe(group, time.Since(began))
	c.mu.Lock()
	c.durable = seen
	// Questions that arrived during the flush and that it covers need no other flush.
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

// observe measures a flush. A flush that only readers asked for has no messages.
func (c *Committer) observe(group []*entry, flush time.Duration) {
	c.FlushDuration.Observe(flush.Seconds())
	messages := 0
	for _, e := range group {
		if e.appends() {
			messages++
		}
	}
	if messages > 0 {
		c.GroupSize.Observe(float64(messages))
	}
}

// Fail makes every append in progress and every later append fail.
func (c *Committer) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = fmt.Errorf("%w: %w", errFailed, err)
		close(c.broken)
	}
}

// Broken returns a channel that is closed by Fail.
func (c *Committer) Broken() <-chan struct{} { return c.broken }

// Failure returns why every append fails; nil if appends work.
func (c *Committer) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Close ends the committer. Entries that are not confirmed by then fail.
func (c *Committer) Close() {
	c.once.Do(func() { close(c.stop) })
	<-c.ended
}
