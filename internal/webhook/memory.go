package webhook

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// bodyBytes bounds the memory of all large bodies that are not answered yet.
const bodyBytes = 64 << 20

var errNoMemory = errors.New("too many large bodies at once")

// bodyMemory is the memory that large bodies share. A signed body is recognised only at its
// end. So if memory runs short, the body of the slowest sender is evicted, whatever its size.
type bodyMemory struct {
	evicted prometheus.Counter

	mu      sync.Mutex
	free    int64
	waiting queue[*reservation]
}

func newBodyMemory(size int64, evicted prometheus.Counter) *bodyMemory {
	return &bodyMemory{evicted: evicted, free: size}
}

// reservation is the part of the memory that one body has taken.
type reservation struct {
	progress
	memory *bodyMemory
	sender interface{ SetReadDeadline(time.Time) error } // its connection; nil if unknown

	taken   int64
	evicted bool
}

// take enlarges the reservation to n bytes. It evicts other bodies if it must. It returns
// false if that does not free enough, or if this body was evicted itself.
func (s *reservation) take(n int64) bool {
	r := s.memory
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.evicted {
		return false
	}
	for r.free+s.taken < n && r.waiting.len() > 0 {
		r.waiting.popSlowest().evict()
	}
	if r.free+s.taken < n {
		return false
	}
	if s.taken == 0 {
		s.begin(time.Now())
	}
	r.free -= n - s.taken
	s.taken = n
	return true
}

// evict must be called with the lock. The buffer itself is freed when its reader gets the error.
func (s *reservation) evict() {
	s.memory.free += s.taken
	s.taken, s.evicted = 0, true
	s.memory.evicted.Inc()
	s.readUntil(longAgo)
}

// read reads from the body. While it waits, a body with a reservation can be evicted.
func (s *reservation) read(body io.Reader, p []byte) (int, error) {
	if s.taken == 0 {
		return body.Read(p)
	}
	s.readUntil(s.deadline)
	s.memory.mu.Lock()
	s.memory.waiting.add(s)
	s.memory.mu.Unlock()
	n, err := body.Read(p)
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	if s.evicted {
		return 0, errNoMemory
	}
	s.memory.waiting.remove(s)
	s.received(n, time.Now())
	return n, err
}

func (s *reservation) readUntil(deadline time.Time) {
	if s.sender != nil {
		_ = s.sender.SetReadDeadline(deadline) // fails on a closed connection; then Read fails too
	}
}

func (s *reservation) release() {
	if s.taken == 0 { // other goroutines change it only during a read
		return
	}
	s.memory.mu.Lock()
	s.memory.free += s.taken
	s.taken = 0
	s.memory.mu.Unlock()
}

// longAgo is a deadline that makes a read fail at once.
var longAgo = time.Unix(1, 0)
