package connection

import (
	"net"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pingInterval is the time between two pings to the server.
	pingInterval = time.Second

	// idleTimeout is how long a connection may receive nothing before it is closed.
	idleTimeout = 3 * pingInterval

	// maxPingsOutstanding is so high that it never ends a connection; idleTimeout does. The
	// answer to a ping comes after everything that the server sent before it, several
	// megabytes, which takes long on a slow line or with a slow reader. Those bytes already
	// show that the server is alive.
	maxPingsOutstanding = 100
)

// Dial makes connections through a dialer. They fail when the server is silent for three seconds.
func Dial(through nats.CustomDialer) nats.Option { return nats.SetCustomDialer(dialer{through}) }

// dialer returns connections that fail when the server sends nothing for idleTimeout.
type dialer struct{ nats.CustomDialer }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.CustomDialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return idleConn{conn}, nil
}

// SkipTLSHandshake returns the wrapped dialer's answer; false if it has none.
func (d dialer) SkipTLSHandshake() bool {
	inner, ok := d.CustomDialer.(interface{ SkipTLSHandshake() bool })
	return ok && inner.SkipTLSHandshake()
}

// idleConn is a connection whose Read fails after idleTimeout without a byte.
type idleConn struct{ net.Conn }

func (c idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
