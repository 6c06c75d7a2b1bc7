package connection

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestAServerThatAnswersNothingIsLeftForAnother(t *testing.T) {
	t.Parallel()
	var urls string
	for range 2 {
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		require.True(t, s.ReadyForConnections(wait.Timeout))
		urls += s.ClientURL() + ","
	}
	var said bytes.Buffer
	conn, err := Open(urls[:len(urls)-1], slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	p := NewPatience(conn, slog.New(slog.NewTextHandler(&said, nil)))
	first := conn.ConnectedAddr()

	p.limit = time.Hour
	p.Asked(false)
	p.Asked(false)
	p.limit = 0
	p.Asked(true)
	p.Asked(false) // the first without an answer
	require.Empty(t, said.String())
	require.Equal(t, first, conn.ConnectedAddr())

	p.Asked(false)
	require.Contains(t, said.String(), "another one is tried")
	wait.Until(t, func() bool { return conn.IsConnected() && conn.ConnectedAddr() != first }, "it stays with %s", first)
}

func TestWithoutAClusterNoServerIsLeft(t *testing.T) {
	t.Parallel()
	var none *Patience
	none.Asked(false)
}
