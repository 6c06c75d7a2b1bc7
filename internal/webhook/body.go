package webhook

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// readBody reads at most MaxBodyBytes, whatever length the sender announces. After an error
// answer the rest of the body is not read (see connection.Read).
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, large *reservation) ([]byte, *answer) {
	if r.ContentLength > h.MaxBodyBytes {
		return nil, &tooLarge
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, h.MaxBodyBytes), r.ContentLength, large)
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, errNoMemory):
		return nil, &tooManyBodies
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, &tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &tooSlow
	}
	return nil, &truncated
}

// firstRead is the size of a body's first buffer, which needs no reservation. Most bodies fit, also long invoices.
const firstRead = 8 << 10

// readAll is io.ReadAll with bounded memory. The first buffer has the announced size if that
// is small. When it is full, readAll reserves a larger one.
func readAll(body io.Reader, announced int64, large *reservation) ([]byte, error) {
	size := int64(firstRead)
	if announced >= 0 && announced < firstRead {
		size = announced + 1 // with one byte more, io.EOF is found without growing the buffer
	}
	buffer := make([]byte, 0, size)
	for {
		n, err := large.read(body, buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buffer) < cap(buffer) {
			continue
		}
		size = 2 * int64(cap(buffer))
		if announced >= int64(cap(buffer)) {
			size = min(size, announced+1)
		}
		if !large.take(size) {
			return nil, errNoMemory
		}
		buffer = append(make([]byte, 0, size), buffer...)
	}
}

// maxBodyMemory bounds the memory of all large bodies that are not answered yet.
const maxBodyMemory = 64 << 20

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

// take enlarges the reservation to n bytes. It evicts other bodies if it must, those of verified senders only for another
// one. It returns false if that does not free enough, or if this body was evicted itself.
func (r *reservation) take(n int64) bool {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.evicted {
		return false
	}
	for m.free+r.taken < n && m.waiting.len() > 0 && (r.verified || !m.waiting.slowest().verified) {
		m.waiting.popSlowest().evict()
	}
	if m.free+r.taken < n {
		return false
	}
	if r.taken == 0 {
		r.begin(time.Now())
	}
	m.free -= n - r.taken
	r.taken = n
	return true
}

// evict must be called with the lock. The buffer itself is freed when its reader gets the error.
func (r *reservation) evict() {
	r.memory.free += r.taken
	r.taken, r.evicted = 0, true
	r.memory.evicted.Inc()
	r.readUntil(longAgo)
}

// read reads from the body. While it waits, a body with a reservation can be evicted.
func (r *reservation) read(body io.Reader, p []byte) (int, error) {
	if r.taken == 0 {
		return body.Read(p)
	}
	r.readUntil(r.deadline)
	r.memory.mu.Lock()
	r.memory.waiting.add(r)
	r.memory.mu.Unlock()
	n, err := body.Read(p)
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	if r.evicted {
		return 0, errNoMemory
	}
	r.memory.waiting.remove(r)
	r.received(n, time.Now())
	return n, err
}

func (r *reservation) readUntil(deadline time.Time) {
	if r.sender != nil {
		_ = r.sender.SetReadDeadline(deadline) // fails on a closed connection; then Read fails too
	}
}

func (r *reservation) release() {
	if r.taken == 0 { // other goroutines change it only during a read
		return
	}
	r.memory.mu.Lock()
	r.memory.free += r.taken
	r.taken = 0
	r.memory.mu.Unlock()
}

// longAgo is a deadline that makes a read fail at once.
var longAgo = time.Unix(1, 0)
