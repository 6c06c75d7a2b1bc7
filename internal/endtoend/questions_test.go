package endtoend

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// mustQuery reads one value.
func mustQuery[T any](t testing.TB, dsn, sql string, args ...any) T {
	t.Helper()
	out, err := query[T](t, dsn, sql, args...)
	require.NoError(t, err)
	return out
}

// query reads one value. The error says if the database cannot be reached or has no tables yet.
func query[T any](t testing.TB, dsn, sql string, args ...any) (out T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	for {
		connection, reused, err := pool.take(ctx, t, dsn)
		if err != nil {
			return out, err
		}
		err = connection.QueryRow(ctx, sql, args...).Scan(&out)
		if reused && connection.IsClosed() {
			continue // it ended after the last query
		}
		pool.give(dsn, connection)
		return out, err
	}
}

// pool keeps connections between queries, because a new login for each poll costs much.
var pool = connectionPool{idle: map[string][]*pgx.Conn{}}

type connectionPool struct {
	mu   sync.Mutex
	idle map[string][]*pgx.Conn // by connection string
}

// take returns a connection for one query, and whether it was used before.
func (p *connectionPool) take(ctx context.Context, t testing.TB, dsn string) (connection *pgx.Conn, reused bool, err error) {
	p.mu.Lock()
	if idle := p.idle[dsn]; len(idle) > 0 {
		connection, p.idle[dsn] = idle[len(idle)-1], idle[:len(idle)-1]
	}
	p.mu.Unlock()
	if connection != nil {
		return connection, true, nil
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, false, err
	}
	// No prepared statements: a promotion changes what a table's name means.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if connection, err = pgx.ConnectConfig(ctx, config); err == nil {
		t.Cleanup(func() { _ = connection.Close(context.Background()) })
	}
	return connection, false, err
}

// give keeps a connection over a Unix socket. It closes a connection through a proxy, which may be
// dead.
func (p *connectionPool) give(dsn string, connection *pgx.Conn) {
	if connection.IsClosed() || !strings.HasPrefix(connection.Config().Host, "/") {
		_ = connection.Close(context.Background())
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle[dsn] = append(p.idle[dsn], connection)
}
