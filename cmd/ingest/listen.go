package main

import (
	"net"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/webhook"
)

// maxConnections is more than a provider has, and little enough to hold.
const maxConnections = 4096

// listen takes so many connections at once that half of the files this process may
// open are left: the log needs them to store anything.
func listen(address string, registerer prometheus.Registerer) (*webhook.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	most := uint64(maxConnections)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		most = min(most, files.Cur/2)
	}
	return webhook.Listen(listener, int(most), registerer), nil
}
