package webhook

import (
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Listener bounds the connections that are open at once. When one too many comes, the
// unverified one goes whose sender was waited for longest: so nobody who has no secret
// keeps the provider out. A connection on which a delivery was verified is left alone.
type Listener struct {
	net.Listener
	max         int
	maxVerified int // the rest is for newcomers
	evicted     prometheus.Counter
	unreadable  prometheus.Counter

	mu       sync.Mutex
	change   sync.Cond // somebody is waited for, or gone
	closed   bool
	open     int
	verified int
	waiting  queue[*connection] // the unverified ones, while their senders are waited for
}

// Listen bounds the connections of a listener. It is for servers of NewServer alone.
func Listen(listener net.Listener, maxConnections int, registerer prometheus.Registerer) *Listener {
	with := promauto.With(registerer)
	l := &Listener{
		Listener: listener, max: maxConnections, maxVerified: maxConnections - (maxConnections+3)/4,
		evicted: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_webhook_evicted_connections_total", Help: "Connections closed without an answer, to let others in.",
		}),
		unreadable: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_webhook_unreadable_requests_total", Help: "Requests refused because they are not well-formed HTTP.",
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
	c := &connection{Conn: inner, listener: l, wait: wait{patience: defaultPatience}}
	c.begin(time.Now())
	if !l.admit() {
		_ = inner.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// admit makes room for one more. Where everybody's request is at work it waits for one
// of them: they are answered soon.
func (l *Listener) admit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.max && !l.closed {
		if l.waiting.len() == 0 {
			l.change.Wait()
			continue
		}
		slowest := l.waiting.next()
		slowest.gone = true
		answered := slowest.lingers
		l.evicted.Inc()
		l.mu.Unlock()
		slowest.abort(answered) // it waits for the connection's reader
		l.mu.Lock()
		l.open--
	}
	l.open++
	return !l.closed
}

// Close implements net.Listener: connections are left to the server, those that
// linger end.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	var lingering []*connection
	for _, c := range l.waiting.heap {
		if c.lingers {
			lingering = append(lingering, c)
		}
	}
	l.mu.Unlock()
	for _, c := range lingering {
		_ = c.end()
	}
	return err
}
