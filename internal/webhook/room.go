package webhook

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// bodyBytes bounds what the large bodies that are being read take all together,
// before anything shows that they are the provider's.
const bodyBytes = 64 << 20

var errNoRoom = errors.New("too many large bodies at once")

// room is what large bodies share. A signed body cannot be told from another before its
// end, so where there is too little the slowest sender's goes, whatever its size.
type room struct {
	evicted prometheus.Counter

	mu      sync.Mutex
	free    int64
	waiting queue[*share]
}

func newRoom(size int64, evicted prometheus.Counter) *room {
	return &room{evicted: evicted, free: size}
}

// share is what one body has of the room.
type share struct {
	wait
	of     *room
	sender interface{ SetReadDeadline(time.Time) error } // its connection, where it is known

	taken   int64
	evicted bool
}

// take makes the share n bytes in all. It fails where no sender is waited for whose share
// could be taken away, and where this one's was.
func (s *share) take(n int64) bool {
	r := s.of
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.evicted {
		return false
	}
	for r.free+s.taken < n && r.waiting.len() > 0 {
		r.waiting.next().evict()
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

// evict has the room's lock. The buffer is garbage as soon as its reader has noticed.
func (s *share) evict() {
	s.of.free += s.taken
	s.taken, s.evicted = 0, true
	s.of.evicted.Inc()
	s.readUntil(longAgo)
}

// read reads the body. Meanwhile, where it has a share, that can be taken away.
func (s *share) read(body io.Reader, p []byte) (int, error) {
	if s.taken == 0 {
		return body.Read(p)
	}
	s.readUntil(s.due)
	s.of.mu.Lock()
	s.of.waiting.add(s)
	s.of.mu.Unlock()
	n, err := body.Read(p)
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.evicted {
		return 0, errNoRoom
	}
	s.of.waiting.remove(s)
	s.received(n, time.Now())
	return n, err
}

func (s *share) readUntil(deadline time.Time) {
	if s.sender != nil {
		_ = s.sender.SetReadDeadline(deadline) // it is closed: reading says so
	}
}

func (s *share) giveBack() {
	if s.taken == 0 { // between reads nobody else changes it
		return
	}
	s.of.mu.Lock()
	s.of.free += s.taken
	s.taken = 0
	s.of.mu.Unlock()
}
