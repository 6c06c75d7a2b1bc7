package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// healthTimeout is how long a delivery waits for the server's health after its own time is
// over. With the longest PUBLISH_TIMEOUT its answer is still sent within five seconds.
const healthTimeout = 250 * time.Millisecond

var errNoAnswer = errors.New("the log does not answer")

// healthCheck asks one question at a time. While a write to the disk hangs, the server does
// not answer, so callers share the question and do not wait for its end.
type healthCheck struct {
	mu       sync.Mutex
	answered chan struct{} // closed after the answer; nil if no question is under way
}

// ask begins a question unless one is under way. The channel is closed after its end.
func (h *healthCheck) ask(question func()) (answered <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered == nil {
		h.answered = make(chan struct{})
		go func() {
			question()
			h.mu.Lock()
			defer h.mu.Unlock()
			close(h.answered)
			h.answered = nil
		}()
	}
	return h.answered
}

// timedOut returns err, of an append or of a question about the stream that had no answer in time. If the embedded
// server does not tell its health, either, it adds that. If that server stores nothing any more, every later append
// fails, even if the server says so only after timedOut has returned.
func (l *Log) timedOut(err error) error {
	if l.server == nil {
		return err
	}
	answered := l.server.healthCheck.ask(func() {
		if reason := l.server.health(); reason != nil {
			l.committer.Fail(reason)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	select {
	case <-answered:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
}
