package eventlog

import (
	"net"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pingInterval is how often the server is asked whether it is there.
	pingInterval = time.Second

	// silenceTimeout: a connection on which nothing came for so long is given up.
	silenceTimeout = 3 * pingInterval

	// maxPingsOutstanding is no limit: the answer to a ping stands behind all that the
	// server had to send before it, up to pullBytes, and on a slow line, or for a slow
	// process, that takes long. What is on its way shows that the server is there.
	maxPingsOutstanding = 100
)

// listeningDialer makes connections that break off when the server goes silent.
type listeningDialer struct{ nats.CustomDialer }

func (d listeningDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.CustomDialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return listeningConn{conn}, nil
}

// SkipTLSHandshake is the wrapped dialer's, where it says anything about that.
func (d listeningDialer) SkipTLSHandshake() bool {
	skips, says := d.CustomDialer.(interface{ SkipTLSHandshake() bool })
	return says && skips.SkipTLSHandshake()
}

// listeningConn is a connection whose Read fails after silenceTimeout without a byte.
type listeningConn struct{ net.Conn }

func (c listeningConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(silenceTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
