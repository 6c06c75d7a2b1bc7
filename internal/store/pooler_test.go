package store

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A pooler with ignore_startup_parameters drops settings, and says nothing.
func TestAPoolerThatDropsASettingIsRefused(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"search_path", "lock_timeout"} {
		pooled := pooler(t, testenv.Database(t), func(_ net.Conn, m *pgproto3.StartupMessage) bool {
			delete(m.Parameters, setting)
			return true
		})
		err := ping(t, pooled)
		require.ErrorIs(t, err, ErrPooler)
		require.ErrorContains(t, err, "DATABASE_URL must name Postgres itself (the session lacks these settings: "+setting+")")
	}
}

// PgBouncer's connect_query sets the same for all clients.
func TestAPoolerThatSetsAnotherSearchPathIsRefused(t *testing.T) {
	t.Parallel()
	pooled := pooler(t, testenv.Database(t), func(_ net.Conn, m *pgproto3.StartupMessage) bool {
		m.Parameters["search_path"] = "portal"
		return true
	})
	err := ping(t, pooled)
	require.ErrorIs(t, err, ErrPooler)
	require.ErrorContains(t, err, "(the session lacks these settings: search_path)")
}

func TestAPoolerThatRefusesASettingIsNamed(t *testing.T) {
	t.Parallel()
	refusal := &pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: search_path"}
	answer, err := refusal.Encode(nil)
	require.NoError(t, err)
	pooled := pooler(t, testenv.Database(t), func(client net.Conn, _ *pgproto3.StartupMessage) bool {
		_, _ = client.Write(answer)
		return false
	})
	s, err := Open(t.Context(), Config{DSN: pooled})
	require.NoError(t, err)
	defer s.Close()
	require.ErrorIs(t, s.Ping(t.Context()), ErrPooler)
	err = s.Migrate(t.Context())
	require.ErrorIs(t, err, ErrPooler)
	require.ErrorContains(t, err, "unsupported startup parameter: search_path")
}

// A pooler lets a client in before it has a session of the database for it.
func TestASessionThatNeverAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	dsn := pooler(t, testenv.Database(t), func(client net.Conn, _ *pgproto3.StartupMessage) bool {
		if asked.Swap(true) {
			return true
		}
		letIn := pgproto3.NewBackend(client, client)
		letIn.Send(&pgproto3.AuthenticationOk{})
		letIn.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		_ = letIn.Flush()
		_, _ = io.Copy(io.Discard, client) // until the client ends the connection
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	s, err := Open(ctx, Config{DSN: dsn, Connections: 1, ConnectTimeout: time.Second})
	require.NoError(t, err)
	defer s.Close()
	require.ErrorContains(t, s.Ping(ctx), "read the settings of the session")
	wait.Until(t, func() bool { return s.Ping(ctx) == nil }, "its only connection is free again")
}

// ping asks the database for a session on schema portal_next.
func ping(t *testing.T, dsn string) error {
	t.Helper()
	s, err := Open(t.Context(), Config{DSN: dsn, Schema: "portal_next"})
	require.NoError(t, err)
	defer s.Close()
	return s.Ping(t.Context())
}

// pooler returns the connection string of a server that passes connections on to the database if begin returns true.
// begin may change the client's first message, or answer it.
func pooler(t *testing.T, dsn string, begin func(net.Conn, *pgproto3.StartupMessage) bool) string {
	database, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(t, client, database, begin)
		}
	}()
	return fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable user=%s password=%s dbname=%s",
		listener.Addr().(*net.TCPAddr).Port, database.User, database.Password, database.Database)
}

func serve(t *testing.T, client net.Conn, database *pgx.ConnConfig, begin func(net.Conn, *pgproto3.StartupMessage) bool) {
	defer client.Close()
	message, err := pgproto3.NewBackend(client, client).ReceiveStartupMessage()
	first, begins := message.(*pgproto3.StartupMessage) // a client also connects to cancel a query
	if err != nil || !begins || !begin(client, first) {
		return
	}
	network, address := pgconn.NetworkAddress(database.Host, database.Port)
	server, err := net.Dial(network, address)
	if !assert.NoError(t, err) {
		return
	}
	defer server.Close()
	encoded, err := first.Encode(nil)
	if assert.NoError(t, err) {
		_, _ = server.Write(encoded)
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		_, _ = io.Copy(client, server)
	}
}
