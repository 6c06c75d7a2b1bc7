// Package backoff waits between retries, and tells a new fault from one that repeats.
package backoff

import (
	"context"
	"time"
)

// Backoff doubles the wait before each retry, from Min to Max. Not for concurrent use.
type Backoff struct {
	Min, Max time.Duration

	next time.Duration
}

// Every returns a Backoff that always waits for interval. It is for something that usually
// comes soon, such as a lock.
func Every(interval time.Duration) *Backoff { return &Backoff{Min: interval, Max: interval} }

// Next returns how long the next Wait takes.
func (b *Backoff) Next() time.Duration { return max(b.next, b.Min) }

// Wait waits for that time. If ctx ends first, it returns the error of ctx.
func (b *Backoff) Wait(ctx context.Context) error {
	timer := time.NewTimer(b.Next())
	defer timer.Stop()
	b.next = min(2*b.Next(), b.Max)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Reset starts again with Min. Call it after an attempt that succeeded for a while.
func (b *Backoff) Reset() { b.next = 0 }
