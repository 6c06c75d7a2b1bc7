//go:build !linux

package eventlog

import (
	"net"
	"path/filepath"
)

// name is the path of a file in the folder.
func (p *private) name(file string) string { return filepath.Join(p.path, file) }

func (p *private) socketPath() (path string, release func(), err error) {
	return shortPath(p.path, socketName)
}

// proveOwner has nothing to add here: only the folder's owner can have made the socket.
func proveOwner(*net.UnixConn, string) error { return nil }
