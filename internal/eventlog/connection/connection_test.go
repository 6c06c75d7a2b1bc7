package connection_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/connection"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestARightThatIsMissingIsOneLine(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, Users: []*server.User{{
		Username: "ingest", Password: "x", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"forbidden"}}},
	}}})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(wait.Timeout))

	var out bytes.Buffer
	closed := make(chan struct{})
	conn, err := connection.Open(s.ClientURL(), slog.New(slog.NewTextHandler(&out, nil)),
		nats.UserInfo("ingest", "x"), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, conn.Publish("forbidden", nil))
	}
	require.NoError(t, conn.FlushTimeout(wait.Timeout))
	conn.Close()
	<-closed // it follows all other handlers
	require.Equal(t, 1, strings.Count(out.String(), "the log's server reports an error"), out.String())
}

// Otherwise the first part of the password would be the server's address, which messages name.
func TestAPasswordWithASlashIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"nats://ingest:123/x@127.0.0.1:1", "ingest:123/x@127.0.0.1:1", "nats://127.0.0.1:1,nats://ingest:123/x@127.0.0.1:1"} {
		_, err := connection.Open(url, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "NATS_URL cannot be read")
		require.NotContains(t, err.Error(), "123")
	}
}
