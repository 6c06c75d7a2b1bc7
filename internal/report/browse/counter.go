package browse

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Counter computes what takes too long for a page: the number of all events, and the revenue of all
// days. It works in the background, only after a page has asked for it, and keeps the result. Until
// it has a result, the answers say so. It is safe for concurrent use.
type Counter struct {
	logger  *slog.Logger
	timeout time.Duration // of one transaction
	work    chan func(context.Context) error
	results atomic.Int64

	mu      sync.Mutex
	schemas map[string]*counted
}

// counted is what a Counter knows of one schema.
type counted struct {
	tally   tally
	revenue revenue
	busy    [jobs]bool // queued or under way
}

// The jobs of one schema. Each is queued at most once.
const (
	countEvents = iota
	addRevenue
	jobs
)

// maxQueued bounds the jobs that wait. If a job finds no place, the next page asks for it again.
const maxQueued = 16

// transactionTimeout bounds each transaction of a job, because a session can go silent, and the other jobs wait. The
// statements of a transaction have shorter limits.
const transactionTimeout = 30 * time.Second

// NewCounter returns a Counter that knows nothing yet.
func NewCounter(logger *slog.Logger) *Counter {
	return &Counter{logger: logger, timeout: transactionTimeout, work: make(chan func(context.Context) error, maxQueued), schemas: map[string]*counted{}}
}

// Run does the jobs until ctx ends, one at a time.
func (c *Counter) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case job := <-c.work:
			if err := job(ctx); err != nil && ctx.Err() == nil {
				c.logger.WarnContext(ctx, "cannot count in the background", "error", err)
			}
		}
	}
}

// start queues a job of the schema unless it is queued or under way.
func (c *Counter) start(schema string, job int, run func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.schema(schema)
	if of.busy[job] {
		return
	}
	done := func(ctx context.Context) error {
		err := run(ctx)
		c.results.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.schema(schema).busy[job] = false
		return err
	}
	select {
	case c.work <- done:
		of.busy[job] = true
	default:
	}
}

// Results returns a number that changes when the work in the background has new results, also if
// they are partial.
func (c *Counter) Results() int64 { return c.results.Load() }

// schema must be called with the mutex.
func (c *Counter) schema(name string) *counted {
	if c.schemas[name] == nil {
		c.schemas[name] = &counted{}
	}
	return c.schemas[name]
}

// rest waits as long as some work took, so that the database is idle half of the time.
func rest(ctx context.Context, since time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Since(since)):
		return nil
	}
}
