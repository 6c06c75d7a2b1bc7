package testenv

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// NATS is an external NATS server, with a connection of its administrator.
type NATS struct {
	URL       string
	Admin     *nats.Conn
	JetStream jetstream.JetStream // over Admin
	server    *server.Server
}

// NewNATS starts a server without a stream.
func NewNATS(t testing.TB) *NATS {
	t.Helper()
	return NewNATSAt(t, "127.0.0.1:0")
}

// NewNATSAt starts a server that listens at addr.
func NewNATSAt(t testing.TB, addr string) *NATS {
	t.Helper()
	host, number, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	port, err := strconv.Atoi(number)
	require.NoError(t, err)
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{
		Host: host, Port: port, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(wait.Timeout))
	n := &NATS{URL: s.ClientURL(), server: s}
	n.Admin, err = nats.Connect(n.URL, nats.Timeout(wait.Timeout))
	require.NoError(t, err)
	t.Cleanup(n.Admin.Close)
	n.JetStream, err = jetstream.New(n.Admin)
	require.NoError(t, err)
	return n
}

// Log connects to the stream, which need not exist.
func (n *NATS) Log(t testing.TB) *eventlog.Log {
	t.Helper()
	log, err := eventlog.Connect(eventlog.Config{URL: n.URL, Stream: Stream, Logger: Logger(t)})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	return log
}

// CreateStream creates the stream as ingest create-stream does.
func (n *NATS) CreateStream(ctx context.Context, t testing.TB, partitions int) {
	t.Helper()
	require.NoError(t, n.Log(t).EnsureStream(ctx, eventlog.StreamConfig{
		Name: Stream, Replicas: 1, Partitions: partitions, DuplicateWindow: time.Minute,
	}, Logger(t)))
}

// Consumers returns the number of the stream's consumers.
func (n *NATS) Consumers(ctx context.Context, t testing.TB) int {
	t.Helper()
	stream, err := n.JetStream.Stream(ctx, Stream)
	require.NoError(t, err)
	return stream.CachedInfo().State.Consumers
}

// Disconnect breaks every connection of payfold. The clients connect again.
func (n *NATS) Disconnect(t testing.TB) {
	t.Helper()
	connections, err := n.server.Connz(nil)
	require.NoError(t, err)
	for _, connection := range connections.Conns {
		if connection.Name == "payfold" {
			require.NoError(t, n.server.DisconnectClientByID(connection.Cid))
		}
	}
}
