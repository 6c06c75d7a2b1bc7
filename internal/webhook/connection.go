package webhook

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A connection that is closed before all that it sent was read is reset, and its sender
// may lose its answer. So a refused sender may go on for a while.
const (
	lingerTimeout = 2 * time.Second // beyond its patience
	maxUnread     = 2 << 20
)

// connection is one that a Listener knows.
type connection struct {
	net.Conn
	wait     // guarded by the listener, like gone and lingers
	listener *Listener
	gone     bool
	lingers  bool

	trusted atomic.Bool // a delivery was verified; changed under the listener's lock
	leaving atomic.Bool // with the answer that is being written
}

type connectionKey struct{}

func remember(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*connection); ok {
		return context.WithValue(ctx, connectionKey{}, c)
	}
	return ctx
}

// connectionOf is the connection of a request's context; nil where no Listener took it.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// keep tells the listener that a delivery was verified, and says whether the connection
// may be kept for the next one: some room is for newcomers.
func (c *connection) keep() bool {
	if c == nil || c.trusted.Load() {
		return true
	}
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.gone || c.lingers {
		return false
	}
	l.waiting.remove(c)
	c.trusted.Store(true)
	l.verified++
	if l.verified > l.maxVerified {
		c.leaving.Store(true)
		return false
	}
	return true
}

// Read implements net.Conn. After a refusal nothing comes: net/http would read on for a
// while, with the answer given and the connection to be closed.
func (c *connection) Read(p []byte) (int, error) {
	switch {
	case c.leaving.Load():
		return 0, io.EOF
	case c.trusted.Load():
		return c.Conn.Read(p)
	}
	return c.await(p)
}

// await reads; meanwhile the connection can be evicted.
func (c *connection) await(p []byte) (int, error) {
	l := c.listener
	l.mu.Lock()
	if c.gone || c.lingers && l.closed {
		l.mu.Unlock()
		return 0, io.EOF
	}
	if c.place == 0 { // else net/http watches it, and the server closes
		l.waiting.add(c)
		l.change.Signal()
	}
	l.mu.Unlock()
	n, err := c.Conn.Read(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.gone {
		return 0, io.EOF // net/http answers other errors
	}
	l.waiting.remove(c)
	c.received(n, time.Now())
	return n, err
}

// Write implements net.Conn. It makes problem documents of net/http's own refusals.
func (c *connection) Write(p []byte) (int, error) {
	if !isRefusal(p) {
		return c.Conn.Write(p)
	}
	c.leaving.Store(true)
	if isProblem(p) {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(problemOf(p)); err != nil {
		return 0, err // it was evicted, which net/http takes for such a request
	}
	c.listener.unreadable.Inc()
	return len(p), nil
}

// Close implements net.Conn. It lingers after a refusal.
func (c *connection) Close() error {
	if c.leaving.Load() {
		return c.CloseWrite()
	}
	return c.end()
}

// CloseWrite is what net/http calls before it waits for a while and closes.
func (c *connection) CloseWrite() error {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.gone || c.lingers {
		return nil
	}
	c.lingers = true
	c.forget()
	if now := time.Now(); c.due.Before(now) {
		c.due = now // it was verified, and had no need of one
	}
	go c.linger()
	return nil
}

// linger tells the sender that nothing more comes and reads on until it has closed.
func (c *connection) linger() {
	defer func() { _ = c.end() }()
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok || tcp.CloseWrite() != nil {
		return
	}
	buffer := make([]byte, 4<<10)
	for unread := 0; unread < maxUnread; {
		if err := c.SetReadDeadline(c.patientUntil().Add(lingerTimeout)); err != nil {
			return
		}
		n, err := c.await(buffer)
		if err != nil {
			return
		}
		unread += n
	}
}

func (c *connection) patientUntil() time.Time {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return c.due
}

// end closes it for good.
func (c *connection) end() error {
	l := c.listener
	l.mu.Lock()
	if c.gone {
		l.mu.Unlock()
		return nil
	}
	c.gone = true
	c.forget()
	l.waiting.remove(c)
	l.mu.Unlock()
	err := c.Conn.Close()
	l.mu.Lock()
	l.open--
	l.change.Signal()
	l.mu.Unlock()
	return err
}

// forget has the listener's lock.
func (c *connection) forget() {
	if c.trusted.Load() {
		c.trusted.Store(false)
		c.listener.verified--
	}
}

// abort closes an evicted one. Where it has no answer, nothing of it stays in the kernel.
func (c *connection) abort(answered bool) {
	if tcp, ok := c.Conn.(*net.TCPConn); ok && !answered {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}
