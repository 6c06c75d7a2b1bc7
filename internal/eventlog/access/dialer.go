package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Dialer connects to the embedded log of a data directory. It checks the server's identity
// before it returns the connection, because nats.go sends the token to any server that it
// is connected to, and lets the server's first message decide about TLS. It is a
// nats.CustomDialer; it ignores the address that it is given.
type Dialer struct {
	dataDir string
	timeout time.Duration         // of one attempt over TCP
	failure atomic.Pointer[error] // of the last attempt
}

// NewDialer returns a Dialer whose attempts over TCP end after timeout.
func NewDialer(dataDir string, timeout time.Duration) *Dialer {
	return &Dialer{dataDir: dataDir, timeout: timeout}
}

// Dial fails with ErrUntrusted if the server may belong to another user.
func (d *Dialer) Dial(string, string) (net.Conn, error) {
	conn, err := d.reach()
	d.failure.Store(&err)
	return conn, err
}

// SkipTLSHandshake returns true: if TLS is needed, Dial has already done the handshake.
func (d *Dialer) SkipTLSHandshake() bool { return true }

// Refused reports whether the last attempt failed at once: nothing listens, or it is not trusted. After a timeout a
// server may be there that is slow.
func (d *Dialer) Refused() bool {
	failure := d.failure.Load()
	return failure != nil && *failure != nil && !isTimeout(*failure)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// Advice says what to check when there is no connection, and why the last Dial failed.
func (d *Dialer) Advice() error {
	failure := d.failure.Load()
	switch {
	case failure == nil:
		return fmt.Errorf("is ingest running on DATA_DIR %s?", d.dataDir)
	case *failure == nil: // it hangs, or has just ended
		return fmt.Errorf("is ingest running on DATA_DIR %s, and does it answer? It accepted the last connection", d.dataDir)
	case errors.Is(*failure, ErrUntrusted):
		return *failure
	default:
		return fmt.Errorf("is ingest running on DATA_DIR %s? (%w)", d.dataDir, *failure)
	}
}

// reach connects through the socket. If nothing listens there it connects over TCP: the two
// processes may run in containers or on machines that share only the folder.
func (d *Dialer) reach() (net.Conn, error) {
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
