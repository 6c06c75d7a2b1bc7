package main

import (
	"net"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/webhook"
)

// maxConnections is more than a provider opens, and needs little memory.
const maxConnections = 4096

// listen bounds the connections by half of the files that this process may open, because the
// log needs files too.
func listen(address string, registerer prometheus.Registerer) (*webhook.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	limit := uint64(maxConnections)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		limit = min(limit, files.Cur/2)
	}
	return webhook.Listen(listener, int(limit), registerer), nil
}
