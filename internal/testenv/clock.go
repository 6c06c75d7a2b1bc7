package testenv

import (
	"sync"
	"time"
)

// Clock is a clock that only Advance moves. Safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock whose time is far from the machine's.
func NewClock() *Clock { return &Clock{now: time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forwards, or backwards if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
