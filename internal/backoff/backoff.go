// Package backoff spaces retries.
package backoff

import (
	"context"
	"time"
)

// Backoff waits before retries: Min before the first one, then twice as long each time,
// up to Max. Not for concurrent use.
type Backoff struct {
	Min, Max time.Duration

	next time.Duration
}

// Next is how long Wait would wait now.
func (b *Backoff) Next() time.Duration { return max(b.next, b.Min) }

// Wait returns after that time; with ctx's error where ctx ends before.
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

// Reset begins anew, after an attempt that went well for a while.
func (b *Backoff) Reset() { b.next = 0 }
