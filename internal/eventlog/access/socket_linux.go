package access

import (
	"net"
	"strconv"
	"syscall"
)

// name returns a path of a file in the folder. It leads through the open file descriptor,
// so it is short enough for a socket's address even if the folder's own path is long.
func (p *private) name(file string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(p.Fd())) + "/" + file
}

// proveOwner refuses a server that belongs to another user. The kernel names the user.
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
