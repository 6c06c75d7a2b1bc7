package webhook

import (
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

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
