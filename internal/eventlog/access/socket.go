package access

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

const socketName = "socket"

// listen creates the socket. It replaces one that a killed ingest has left.
func (p *private) listen() (*net.UnixListener, error) {
	path := p.name(socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket in %s: %w", p.path, err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", filepath.Join(p.path, socketName), cause(err))
	}
	listener.SetUnlinkOnClose(false) // by then the path may name another file
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// dial connects to the socket, whose server must belong to this user or to root.
func (p *private) dial() (net.Conn, error) {
	socket := filepath.Join(p.path, socketName)
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: p.name(socketName), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", socket, cause(err))
	}
	if err := proveOwner(conn, socket); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// cause returns the system's error number without the address, which leads through a file descriptor.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
