package webhook

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// If a connection is closed before all received bytes were read, the system resets it, and
// the sender can lose its answer. So after an error answer the connection stays open for a
// while, and what arrives is discarded.
const (
	lingerTimeout = 2 * time.Second // after the sender's deadline
	maxUnread     = 2 << 20         // bytes that are discarded
)

// connection is a connection that a Listener has accepted.
type connection struct {
	net.Conn
	progress  // the listener guards it, like closed and lingering; verified stays false: only unverified connections wait
	listener  *Listener
	closed    bool
	lingering bool

	trusted atomic.Bool // a delivery was verified; changed under the listener's lock
	closing atomic.Bool // the answer that is being written is the last one
}

type connectionKey struct{}

// withConnection returns a context from which connectionOf gets the connection.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*connection); ok {
		return context.WithValue(ctx, connectionKey{}, c)
	}
	return ctx
}

// connectionOf returns the connection of a request; nil if no Listener accepted it.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// mayStayOpen records that a delivery was verified on this connection. It reports whether
// the connection may stay open for the next delivery. Some of the connections are reserved for
// new senders.
func (c *connection) mayStayOpen() bool {
	if c == nil || c.trusted.Load() {
		return true
	}
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed || c.lingering {
		return false
	}
	l.waiting.remove(c)
	c.trusted.Store(true)
	l.verified++
	if l.verified > l.maxVerified {
		c.closing.Store(true)
		return false
	}
	return true
}

// Read implements net.Conn. After an error answer it returns io.EOF; otherwise net/http would
// go on reading for a while.
func (c *connection) Read(p []byte) (int, error) {
	switch {
	case c.closing.Load():
		return 0, io.EOF
	case c.trusted.Load():
		return c.Conn.Read(p)
	}
	return c.await(p)
}

// await reads from an unverified connection, which can be evicted while it waits.
func (c *connection) await(p []byte) (int, error) {
	l := c.listener
	l.mu.Lock()
	if c.closed || c.lingering && l.closed {
		l.mu.Unlock()
		return 0, io.EOF
	}
	if c.index == 0 { // otherwise net/http is already reading, and the server is closing
		l.waiting.add(c)
		l.change.Signal()
	}
	l.mu.Unlock()
	n, err := c.Conn.Read(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return 0, io.EOF // net/http would answer any other error
	}
	l.waiting.remove(c)
	c.received(n, time.Now())
	return n, err
}

// refuse records that the next answer is an error, and the last one.
func (c *connection) refuse() {
	if c != nil {
		c.closing.Store(true)
	}
}

// Close implements net.Conn. After an error answer the connection lingers.
func (c *connection) Close() error {
	if c.closing.Load() {
		return c.CloseWrite()
	}
	return c.end()
}

// CloseWrite makes the connection linger. net/http calls it some time before Close.
func (c *connection) CloseWrite() error {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed || c.lingering {
		return nil
	}
	c.lingering = true
	c.unverify()
	if now := time.Now(); c.deadline.Before(now) {
		c.deadline = now // on a verified connection, nothing has moved the deadline
	}
	go c.linger()
	return nil
}

// linger tells the sender that no more bytes follow. It discards what arrives until the sender closes
// the connection, or a limit is reached.
func (c *connection) linger() {
	defer func() { _ = c.end() }()
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok || tcp.CloseWrite() != nil {
		return
	}
	buffer := make([]byte, 4<<10)
	for unread := 0; unread < maxUnread; {
		if err := c.SetReadDeadline(c.readDeadline().Add(lingerTimeout)); err != nil {
			return
		}
		n, err := c.await(buffer)
		if err != nil {
			return
		}
		unread += n
	}
}

func (c *connection) readDeadline() time.Time {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return c.deadline
}

// end closes the connection and removes it from the listener.
func (c *connection) end() error {
	l := c.listener
	l.mu.Lock()
	if c.closed {
		l.mu.Unlock()
		return nil
	}
	c.closed = true
	c.unverify()
	l.waiting.remove(c)
	l.mu.Unlock()
	err := c.Conn.Close()
	l.mu.Lock()
	l.open--
	l.change.Signal()
	l.mu.Unlock()
	return err
}

// unverify must be called with the listener's lock.
func (c *connection) unverify() {
	if c.trusted.Load() {
		c.trusted.Store(false)
		c.listener.verified--
	}
}

// abort closes an evicted connection. If it had no answer yet, it is reset, so that the
// kernel frees its buffers at once.
func (c *connection) abort(answered bool) {
	if tcp, ok := c.Conn.(*net.TCPConn); ok && !answered {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}
