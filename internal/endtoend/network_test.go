package endtoend

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/ports"
)

// line is a network connection that a test can disturb.
type line struct{ proxy *toxiproxy.Proxy }

// newLine leads from a port of its own to upstream.
func newLine(t *testing.T, name, upstream string) *line {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, name, ports.Free(t), upstream)
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	return &line{proxy}
}

func (l *line) address() string { return l.proxy.Listen }

// The disturbances, as toxiproxy's toxics.
const (
	delay   = `{"type":"latency","attributes":{"latency":150,"jitter":100}}`
	silence = `{"type":"timeout","attributes":{"timeout":0}}` // nothing gets through, no connection ends
	reset   = `{"type":"reset_peer","attributes":{"timeout":50}}`
	trickle = `{"type":"bandwidth","attributes":{"rate":60}}`
)

// disturb adds a toxic in one direction, or in both.
func (l *line) disturb(t *testing.T, toxic string, directions ...string) {
	t.Helper()
	for _, direction := range directions {
		named := strings.Replace(toxic, "{", fmt.Sprintf(`{"name":%q,"stream":%q,`, direction, direction), 1)
		_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(named))
		require.NoError(t, err)
	}
}

// heal removes every toxic.
func (l *line) heal() { l.proxy.Toxics.ResetToxics(context.Background()) }

// cut ends all connections and takes no new ones until the line is mended.
func (l *line) cut() { l.proxy.Stop() }

func (l *line) mend(t *testing.T) { require.NoError(t, l.proxy.Start()) }

// elsewhere is what a reader that cannot have the socket of a data folder needs of
// it, with another address.
func elsewhere(t *testing.T, dataDir, address string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "nats"), 0o700))
	for _, file := range []string{"nats.token", "nats/cert.pem"} {
		text, err := os.ReadFile(filepath.Join(dataDir, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nats.addr"), []byte(address), 0o600))
	return dir
}

// bridge leads from a TCP port to a Unix socket, which toxiproxy cannot reach.
func bridge(t *testing.T, socket string) string {
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
