// Package backoff waits between retries, and tells a new fault from one that repeats.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff doubles the wait before each retry, from Min to Max. A random part of each wait, up to half of it, is left
// out: processes that failed together do not retry together. Not for concurrent use.
type Backoff struct {
	Min, Max time.Duration
	Jitter   func() float64 // in [0, 1); nil: random

	next  time.Duration
	exact bool
}

// Every returns a Backoff that always waits for exactly interval. It is for something that usually
// comes soon, such as a lock, and for a time that somebody else asked for.
func Every(interval time.Duration) *Backoff {
	return &Backoff{Min: interval, Max: interval, exact: true}
}

// Next returns how long the next Wait takes at most.
func (b *Backoff) Next() time.Duration { return max(b.next, b.Min) }

// Wait waits. If ctx ends first, it returns the error of ctx.
func (b *Backoff) Wait(ctx context.Context) error {
	pause := b.Next()
	if !b.exact {
		jitter := b.Jitter
		if jitter == nil {
			jitter = rand.Float64
		}
		pause -= time.Duration(jitter() * float64(pause/2+1))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	b.Double()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Double doubles the next wait, as Wait does. It is for a caller that waits in another way.
func (b *Backoff) Double() { b.next = min(2*b.Next(), b.Max) }

// Reset starts again with Min. Call it after an attempt that succeeded for a while.
func (b *Backoff) Reset() { b.next = 0 }
