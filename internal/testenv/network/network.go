// Package network gives tests network connections that they can disturb. Of payfold it
// imports only ports, so that the tests of every package can use it.
package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/ports"
)

// Proxy forwards connections to a server.
type Proxy struct{ toxi *toxiproxy.Proxy }

// NewProxy listens at a new address. The server is at a TCP address or at the path of a Unix
// socket.
func NewProxy(t testing.TB, upstream string) *Proxy {
	t.Helper()
	if filepath.IsAbs(upstream) {
		upstream = bridge(t, upstream)
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	toxi := toxiproxy.NewProxy(server, "proxy", ports.Free(t), upstream)
	require.NoError(t, toxi.Start())
	t.Cleanup(toxi.Stop)
	return &Proxy{toxi}
}

// Address is where clients connect.
func (p *Proxy) Address() string { return p.toxi.Listen }

// Disturbances, in toxiproxy's notation. Rates are in KB/s.
const (
	Delay   = `{"type":"latency","attributes":{"latency":150,"jitter":100}}`
	Silence = `{"type":"timeout","attributes":{"timeout":0}}` // forwards nothing and keeps connections open
	Reset   = `{"type":"reset_peer","attributes":{"timeout":50}}`
	Slow    = `{"type":"bandwidth","attributes":{"rate":1500}}`
	Trickle = `{"type":"bandwidth","attributes":{"rate":60}}`
)

// The directions, as toxiproxy names them.
const (
	ToServer = "upstream"
	ToClient = "downstream"
)

// Disturb disturbs one direction or both.
func (p *Proxy) Disturb(t testing.TB, toxic string, directions ...string) {
	t.Helper()
	for _, direction := range directions {
		named := strings.Replace(toxic, "{", fmt.Sprintf(`{"name":%q,"stream":%q,`, direction, direction), 1)
		_, err := p.toxi.Toxics.AddToxicJson(strings.NewReader(named))
		require.NoError(t, err)
	}
}

// Clear ends every disturbance.
func (p *Proxy) Clear() { p.toxi.Toxics.ResetToxics(context.Background()) }

// Cut ends all connections and refuses new ones until Restore.
func (p *Proxy) Cut() { p.toxi.Stop() }

// Restore accepts connections again after Cut.
func (p *Proxy) Restore(t testing.TB) {
	t.Helper()
	require.NoError(t, p.toxi.Start())
}

// bridge forwards a TCP port to a Unix socket, because toxiproxy cannot.
func bridge(t testing.TB, socket string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(conn, socket)
		}
	}()
	return listener.Addr().String()
}

// forward copies in both directions until either end closes.
func forward(conn net.Conn, socket string) {
	defer conn.Close()
	upstream, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer upstream.Close()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{conn, upstream}, {upstream, conn}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
