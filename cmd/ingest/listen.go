package main

import (
	"net"
	"syscall"

	"golang.org/x/net/netutil"
)

// mostConnections is more than a provider has, and little enough to hold.
const mostConnections = 8192

// listen takes so many connections at once that half of the files this process may
// open are left: the log needs them to store anything. The others wait.
func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	most := uint64(mostConnections)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		most = min(most, files.Cur/2)
	}
	return netutil.LimitListener(listener, int(most)), nil
}
