package eventlog

import (
	"net"
	"strconv"
	"syscall"
)

// name is the path of a file in the folder. It leads through the open folder, so it
// is short enough for a socket's address wherever the folder lies.
func (p *private) name(file string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(p.Fd())) + "/" + file
}

func (p *private) socketPath() (path string, release func(), err error) {
	return p.name(socketName), func() {}, nil
}

// proveOwner refuses a server of another user: the kernel says who listens there.
func proveOwner(conn *net.UnixConn, what string) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return trust("the server at "+what, int(peer.Uid))
}
