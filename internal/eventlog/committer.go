package eventlog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// committer confirms appends in groups. One flush makes everything durable that the
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
type committer struct {
	commitMetrics
	publisher publisher
	flush     func(seq uint64) error // blockstore.Syncer.Flush; nil: the servers have made durable what they acknowledge
	wake      chan struct{}          // holds one token while an entry waits for a flush
	stop      chan struct{}
	ended     chan struct{}
	once      sync.Once

	mu      sync.Mutex
	waiting []*entry // the server has answered them; the next flush covers them
	seen    uint64   // the newest sequence that the server has acknowledged
	durable uint64   // the newest sequence that is known to be durable

	broken chan struct{} // closed when failed is set
	failed error
}

// publisher is what the committer needs of nats.go.
type publisher interface {
	PublishMsgAsync(m *nats.Msg, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error)
}

// entry is one append that the server has acknowledged, or one reader's question whether a sequence is durable.
type entry struct {
	seq     uint64
	appends bool          // it is no question
	result  chan struct{} // closed when err is final
	err     error
}

var (
	errClosed    = errors.New("the log is closed")
	errFailed    = errors.New("the log cannot store any more")
	errBadAnswer = errors.New("the log's answer names no sequence")
)

// newCommitter starts a committer; close ends it. flush makes everything durable that the server
// had acknowledged when flush was called; seq is the newest acknowledged sequence. It is nil for a cluster, which
// acknowledges only what its quorum has.
func newCommitter(p publisher, flush func(seq uint64) error) *committer {
	c := &committer{
		commitMetrics: newCommitMetrics(), publisher: p, flush: flush,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}), broken: make(chan struct{}),
	}
	go c.run()
	return c
}

// append publishes the message and returns when it is durable. After an error
// the message may or may not be in the log.
func (c *committer) append(ctx context.Context, m *nats.Msg) (duplicate bool, err error) {
	began := time.Now()
	if err := c.failure(); err != nil {
		return false, err
	}
	answer, err := c.publisher.PublishMsgAsync(m)
	if err != nil {
		return false, refused(err)
	}
	select {
	case ack := <-answer.Ok():
		if ack.Sequence == 0 {
			return false, errBadAnswer
		}
		duplicate, err = ack.Duplicate, c.await(ctx, &entry{seq: ack.Sequence, appends: true, result: make(chan struct{})})
	case err := <-answer.Err():
		return false, refused(err)
	case <-c.broken:
		return false, c.failure()
	case <-c.ended:
		return false, errClosed
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if err == nil {
		c.appendDuration.Observe(time.Since(began).Seconds())
	}
	return duplicate, err
}

// refused says why an event was not stored. Without a connection, nats.go has no room for it.
func refused(err error) error {
	for _, lost := range []error{nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrConnectionClosed} {
		if errors.Is(err, lost) {
			return fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
	}
	return fmt.Errorf("the log does not accept the event: %w", err)
}

// confirm returns when the message at seq is durable. The result is a sequence, seq or a
// newer one, up to which everything is durable. The server must have delivered that
// message to a reader already. Asking about a sequence that was never delivered gives a
// wrong answer to the caller only.
func (c *committer) confirm(ctx context.Context, seq uint64) (uint64, error) {
	c.mu.Lock()
	durable := c.durable
	c.mu.Unlock()
	if seq > durable {
		if err := c.await(ctx, &entry{seq: seq, result: make(chan struct{})}); err != nil {
			return 0, err
		}
		c.mu.Lock()
		durable = max(c.durable, seq)
		c.mu.Unlock()
	}
	return durable, c.failure()
}

// await makes the next flush cover e, and returns after it.
func (c *committer) await(ctx context.Context, e *entry) error {
	c.mu.Lock()
	c.waiting = append(c.waiting, e)
	if e.appends {
		c.seen = max(c.seen, e.seq)
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // a flush is already due and covers this entry too
	}
	select {
	case <-e.result:
		return e.err
	case <-c.broken:
		return c.failure()
	case <-c.ended:
		return errClosed
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		// Otherwise the number of entries that nobody waits for would grow while a flush hangs.
		c.waiting = slices.DeleteFunc(c.waiting, func(other *entry) bool { return other == e })
		return ctx.Err()
	}
}

// begin records that everything up to seq was durable before the first append.
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
		// Goroutines that can publish or receive an answer right now run first, and share
		// the flush. If there is none, Gosched returns at once.
		runtime.Gosched()
		if err := c.commit(); err != nil {
			c.fail(err)
			return
		}
	}
}

// commit flushes once for all entries that wait now.
func (c *committer) commit() error {
	c.mu.Lock()
	group, seen := c.waiting, c.seen
	c.waiting = nil
	c.mu.Unlock()
	if len(group) == 0 {
		return nil // the previous flush covered them
	}
	appends := 0
	for _, e := range group {
		if e.appends {
			appends++
		}
	}
	began := time.Now()
	var err error
	if c.flush != nil {
		err = c.flush(seen)
	}
	if errors.Is(err, blockstore.ErrNoBlock) && appends == 0 {
		for _, e := range group { // the log is empty, and these are only questions
			e.err = err
			close(e.result)
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.flushDuration.Observe(time.Since(began).Seconds())
	if appends > 0 {
		c.groupSize.Observe(float64(appends))
	}
	c.mu.Lock()
	c.durable = seen
	// Questions that arrived during the flush and that it covers need no other flush.
	rest := c.waiting[:0]
	for _, e := range c.waiting {
		if !e.appends && e.seq <= seen {
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

// fail makes every append in progress and every later append fail.
func (c *committer) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = fmt.Errorf("%w: %w", errFailed, err)
		close(c.broken)
	}
}

// failure returns why every append fails; nil if appends work.
func (c *committer) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// close ends the committer. Entries that are not confirmed by then fail.
func (c *committer) close() {
	c.once.Do(func() { close(c.stop) })
	<-c.ended
}
