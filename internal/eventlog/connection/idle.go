package connection

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pingInterval is the time between two pings to the server.
	pingInterval = time.Second

	// maxPingsOutstanding is so high that it never ends a connection; silence does, see Dialer. The
	// answer to a ping comes after everything that the server sent before it, several
	// megabytes, which takes long on a slow line or with a slow reader. Those bytes already
	// show that the server is alive.
	maxPingsOutstanding = 100
)

// Dialer makes connections through another dialer. They fail when the server sends nothing for the time of silence.
type Dialer struct {
	through nats.CustomDialer
	silence time.Duration
	last    atomic.Pointer[error] // of the last attempt
}

// NewDialer returns a Dialer. silence must be some seconds, because the server answers a ping each second. The other
// dialer also looks up names; see ByName.
func NewDialer(through nats.CustomDialer, silence time.Duration) *Dialer {
	return &Dialer{through: through, silence: silence}
}

// Use is a nats.Option.
func (d *Dialer) Use(o *nats.Options) error {
	o.CustomDialer, o.SkipHostLookup = d, true
	return nil
}

// Last returns the error of the last attempt. tried is false before the first one.
func (d *Dialer) Last() (err error, tried bool) {
	if last := d.last.Load(); last != nil {
		return *last, true
	}
	return nil, false
}

// Refused reports whether the last attempt failed at once: nothing listens, nobody has that name, or the server is not
// trusted. After a timeout a server may be there that is slow. A nil Dialer has made no attempt.
func (d *Dialer) Refused() bool {
	if d == nil {
		return false
	}
	err, _ := d.Last()
	var timeout net.Error
	return err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
}

// Dial implements nats.CustomDialer.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.through.Dial(network, address)
	d.last.Store(&err)
	if err != nil {
		return nil, err
	}
	return &idleConn{Conn: conn, silence: d.silence}, nil
}

// SkipTLSHandshake returns the wrapped dialer's answer; false if it has none.
func (d *Dialer) SkipTLSHandshake() bool {
	inner, ok := d.through.(interface{ SkipTLSHandshake() bool })
	return ok && inner.SkipTLSHandshake()
}

// idleConn is a connection whose Read fails after silence without a byte, or at an earlier deadline. nats.go sets a
// deadline for its reads while it connects, and reads nothing else meanwhile. After silence the connection is closed,
// so that a write ends, too: nats.go holds its lock while it writes, and every delivery would wait for that lock.
type idleConn struct {
	net.Conn
	silence  time.Duration
	deadline atomic.Pointer[time.Time] // of reads; nil or zero: none
}

func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.limitRead(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.deadlinePassed() {
		_ = c.Close() // the error of Read says why
	}
	return n, err
}

// deadlinePassed reports whether a deadline that was set has ended.
func (c *idleConn) deadlinePassed() bool {
	at := c.deadline.Load()
	return at != nil && !at.IsZero() && !at.After(time.Now())
}

// SetDeadline also applies to a Read in progress.
func (c *idleConn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// SetReadDeadline also applies to a Read in progress.
func (c *idleConn) SetReadDeadline(at time.Time) error {
	c.deadline.Store(&at)
	return c.limitRead()
}

func (c *idleConn) limitRead() error {
	by := time.Now().Add(c.silence)
	if at := c.deadline.Load(); at != nil && !at.IsZero() && at.Before(by) {
		by = *at
	}
	return c.Conn.SetReadDeadline(by)
}
