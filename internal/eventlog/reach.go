package eventlog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// dialer connects to the embedded log of a data directory. It checks the server's identity
// before it returns the connection, because nats.go sends the token to any server that it
// is connected to, and lets the server's first message decide about TLS.
type dialer struct {
	dataDir string
	reach   func(dataDir string) (net.Conn, error)
	failure atomic.Pointer[error] // of the last attempt
}

func newDialer(dataDir string) *dialer { return &dialer{dataDir: dataDir, reach: reach} }

func (d *dialer) Dial(string, string) (net.Conn, error) {
	conn, err := d.reach(d.dataDir)
	d.failure.Store(&err)
	return conn, err
}

// SkipTLSHandshake returns true: if TLS is needed, Dial has already done the handshake.
func (d *dialer) SkipTLSHandshake() bool { return true }

// disconnected returns ErrDisconnected with advice on what to check.
func (d *dialer) disconnected() error {
	failure := d.failure.Load()
	switch {
	case failure == nil, *failure == nil:
		return fmt.Errorf("%w: is ingest running on DATA_DIR %s?", ErrDisconnected, d.dataDir)
	case errors.Is(*failure, errUntrusted):
		return fmt.Errorf("%w: %w", ErrDisconnected, *failure)
	default:
		return fmt.Errorf("%w: is ingest running on DATA_DIR %s? (%w)", ErrDisconnected, d.dataDir, *failure)
	}
}

// reach connects through the socket. If nothing listens there it connects over TCP: the two
// processes may run in containers or on machines that share only the folder.
func reach(dataDir string) (net.Conn, error) {
	folder, err := openPrivate(dataDir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	conn, err := folder.dial()
	if err == nil || errors.Is(err, errUntrusted) {
		return conn, err
	}
	if address := readTrimmed(addressFile(dataDir)); address != "" {
		return folder.dialTCP(dataDir, address)
	}
	return nil, err
}

func (p *private) dial() (net.Conn, error) {
	path, release, err := p.socketPath()
	if err != nil {
		return nil, err
	}
	defer release()
	socket := filepath.Join(p.path, socketName)
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", socket, cause(err))
	}
	if err := proveOwner(conn, socket); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (p *private) dialTCP(dataDir, address string) (net.Conn, error) {
	pin, err := p.pin()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
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
		return nil, fmt.Errorf("%w: the server at %s is not the ingest of %s: %w", errUntrusted, address, dataDir, err)
	}
	return conn, nil
}

// cause returns the system's error number without the address, which may be a temporary path.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
