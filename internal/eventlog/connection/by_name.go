package connection

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// ByName is a dialer that looks up a server's name and connects to one of its addresses, all within Timeout. nats.go
// itself would look up the name without a limit. It holds its lock meanwhile, and every delivery waits for that lock.
type ByName struct {
	Timeout  time.Duration
	Resolver *net.Resolver // nil: the usual one
}

// Dial tries the addresses in random order, because some of the servers may be away.
func (d *ByName) Dial(network, address string) (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.Timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := d.Resolver.LookupHost(ctx, host)
	for _, at := range rand.Perm(len(found)) {
		one := net.Dialer{Timeout: d.Timeout / time.Duration(len(found))}
		if conn, err = one.DialContext(ctx, network, net.JoinHostPort(found[at], port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
