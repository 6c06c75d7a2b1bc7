package webhook

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	readHeaderTimeout = defaultStallTimeout     // a header has a few hundred bytes
	readTimeout       = 2 * defaultStallTimeout // for the header and the first firstRead bytes; a larger body gets more while it arrives
	writeTimeout      = 30 * time.Second        // after the header: reading at minRate, storing, answering
	idleTimeout       = 2 * time.Minute         // a provider keeps its connection for the next delivery; an error answer closes it
	maxHeaderBytes    = 16 << 10
)

// NewServer returns a server in which slow and hostile clients hold few resources.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:     handler,
		ConnContext: withConnection,
		// OPTIONS * is answered like every unknown path.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

// Listener bounds the number of open connections. If one more arrives, the unverified connection
// with the slowest sender is evicted. So senders without a secret cannot keep the provider out. A
// connection on which a delivery was verified is never evicted.
type Listener struct {
	net.Listener
	max         int
	maxVerified int // the rest is reserved for new senders
	evicted     prometheus.Counter

	mu       sync.Mutex
	change   sync.Cond // a connection waits for its sender, or has closed
	closed   bool
	open     int
	verified int
	waiting  queue[*connection] // unverified connections that wait for bytes of their senders
}

// Listen bounds the connections of a listener. Only a server from NewServer may use it.
func Listen(listener net.Listener, maxConnections int, registerer prometheus.Registerer) *Listener {
	with := promauto.With(registerer)
	l := &Listener{
		Listener: listener, max: maxConnections, maxVerified: maxConnections - (maxConnections+3)/4,
		evicted: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_webhook_evicted_connections_total", Help: "Unverified connections closed to make room for others.",
		}),
	}
	l.change.L = &l.mu
	count := func(state string, get func() int) {
		with.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "payfold_webhook_connections", Help: "Open connections, by whether a delivery was verified on them.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 {
			l.mu.Lock()
			defer l.mu.Unlock()
			return float64(get())
		})
	}
	count("verified", func() int { return l.verified })
	count("unverified", func() int { return l.open - l.verified })
	return l
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: inner, listener: l, progress: progress{timeout: defaultStallTimeout}}
	c.begin(time.Now())
	if !l.admit() {
		_ = inner.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// admit counts one more connection, and evicts another if there are too many. If no connection
// waits for its sender, admit waits until one does or closes. This is soon. admit returns false
// after Close.
func (l *Listener) admit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.max && !l.closed {
		if l.waiting.len() == 0 {
			l.change.Wait()
			continue
		}
		slowest := l.waiting.popSlowest()
		slowest.closed = true
		answered := slowest.lingering
		l.evicted.Inc()
		l.mu.Unlock()
		slowest.abort(answered) // without the lock: it waits for the connection's reader
		l.mu.Lock()
		l.open--
	}
	l.open++
	return !l.closed
}

// Close implements net.Listener. It closes lingering connections; the server closes the
// others.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	var lingering []*connection
	for _, c := range l.waiting.heap {
		if c.lingering {
			lingering = append(lingering, c)
		}
	}
	l.mu.Unlock()
	for _, c := range lingering {
		_ = c.end()
	}
	return err
}

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
