// Package network gives tests network connections that they can disturb. It depends on
// nothing of payfold but ports, so that every package's tests can use it.
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

// Line leads from an address of its own to a server.
type Line struct{ proxy *toxiproxy.Proxy }

// NewLine leads to the server at an address, or at the path of a Unix socket.
func NewLine(t testing.TB, upstream string) *Line {
	t.Helper()
	if filepath.IsAbs(upstream) {
		upstream = bridge(t, upstream)
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "line", ports.Free(t), upstream)
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	return &Line{proxy}
}

// Address is where clients connect.
func (l *Line) Address() string { return l.proxy.Listen }

// The disturbances, as toxiproxy's toxics. Rates are in KB/s.
const (
	Delay   = `{"type":"latency","attributes":{"latency":150,"jitter":100}}`
	Silence = `{"type":"timeout","attributes":{"timeout":0}}` // nothing gets through, no connection ends
	Reset   = `{"type":"reset_peer","attributes":{"timeout":50}}`
	Slow    = `{"type":"bandwidth","attributes":{"rate":1500}}`
	Trickle = `{"type":"bandwidth","attributes":{"rate":60}}`
)

// The directions, as toxiproxy names them.
const (
	ToServer = "upstream"
	ToClient = "downstream"
)

// Disturb disturbs one direction, or both.
func (l *Line) Disturb(t testing.TB, toxic string, directions ...string) {
	t.Helper()
	for _, direction := range directions {
		named := strings.Replace(toxic, "{", fmt.Sprintf(`{"name":%q,"stream":%q,`, direction, direction), 1)
		_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(named))
		require.NoError(t, err)
	}
}

// Heal ends every disturbance.
func (l *Line) Heal() { l.proxy.Toxics.ResetToxics(context.Background()) }

// Cut ends all connections and takes no new ones until the line is mended.
func (l *Line) Cut() { l.proxy.Stop() }

// Mend takes connections again after Cut.
func (l *Line) Mend(t testing.TB) {
	t.Helper()
	require.NoError(t, l.proxy.Start())
}

// bridge leads from a TCP port to a Unix socket, which toxiproxy cannot reach.
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
			go join(conn, socket)
		}
	}()
	return listener.Addr().String()
}

// join copies both ways until either end closes.
func join(conn net.Conn, socket string) {
	defer conn.Close()
	upstream, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer upstream.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn, upstream}, {upstream, conn}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
