package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Dialer connects to the embedded log of a data directory. It checks the server's identity
// before it returns the connection, because nats.go sends the token to any server that it
// is connected to, and lets the server's first message decide about TLS. It is a
// nats.CustomDialer; it ignores the address that it is given.
type Dialer struct {
	dataDir string
	timeout time.Duration // of one attempt over TCP
}

// NewDialer returns a Dialer whose attempts over TCP end after timeout.
func NewDialer(dataDir string, timeout time.Duration) *Dialer {
	return &Dialer{dataDir, timeout}
}

// SkipTLSHandshake returns true: if TLS is needed, Dial has already done the handshake.
func (d *Dialer) SkipTLSHandshake() bool { return true }

// Advice says what to check when there is no connection. tried reports whether Dial was called, and failure is its last
// error.
func (d *Dialer) Advice(failure error, tried bool) error {
	switch {
	case !tried:
		return fmt.Errorf("is ingest running on DATA_DIR %s?", d.dataDir)
	case failure == nil: // it hangs, or has just ended
		return fmt.Errorf("is ingest running on DATA_DIR %s, and does it answer? It accepted the last connection", d.dataDir)
	case errors.Is(failure, ErrUntrusted):
		return failure
	default:
		return fmt.Errorf("is ingest running on DATA_DIR %s? (%w)", d.dataDir, failure)
	}
}

// Dial connects through the socket. If nothing listens there it connects over TCP: the two
// processes may run in containers or on machines that share only the folder. It fails with
// ErrUntrusted if the server may belong to another user.
func (d *Dialer) Dial(string, string) (net.Conn, error) {
	folder, err := openPrivate(d.dataDir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	conn, err := folder.dial()
	if err == nil || errors.Is(err, ErrUntrusted) {
		return conn, err
	}
	if address := readTrimmed(addressFile(d.dataDir)); address != "" {
		return d.dialTCP(folder, address)
	}
	return nil, err
}

func (d *Dialer) dialTCP(folder *private, address string) (net.Conn, error) {
	pin, err := folder.pin()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	var network net.Dialer
	transport, err := network.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, cause(err))
	}
	conn := tls.Client(transport, pin)
	if err := conn.HandshakeContext(ctx); err != nil {
		transport.Close()
		var number syscall.Errno
		if errors.As(err, &number) || errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil, fmt.Errorf("connect to %s: %w", address, cause(err)) // no server is ready there
		}
		return nil, fmt.Errorf("%w: the server at %s is not the ingest of %s: %w", ErrUntrusted, address, d.dataDir, err)
	}
	return conn, nil
}
