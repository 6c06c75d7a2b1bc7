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

// ask reads one value, which must be there.
func ask[T any](t testing.TB, dsn, sql string, args ...any) T {
	t.Helper()
	out, err := query[T](t, dsn, sql, args...)
	require.NoError(t, err)
	return out
}

// query reads one value, of a database that may be away or have no tables yet.
func query[T any](t testing.TB, dsn, sql string, args ...any) (out T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	for {
		connection, isKept, err := logins.take(ctx, t, dsn)
		if err != nil {
			return out, err
		}
		err = connection.QueryRow(ctx, sql, args...).Scan(&out)
		if isKept && connection.IsClosed() {
			continue // it ended since the last question
		}
		logins.give(dsn, connection)
		return out, err
	}
}

// logins are kept between questions: a poll that logs in each time costs more
// than what it waits for.
var logins = kept{idle: map[string][]*pgx.Conn{}}

type kept struct {
	mu   sync.Mutex
	idle map[string][]*pgx.Conn // by connection string
}

// take returns a connection for one question, and whether it was used before.
func (k *kept) take(ctx context.Context, t testing.TB, dsn string) (connection *pgx.Conn, isKept bool, err error) {
	k.mu.Lock()
	if idle := k.idle[dsn]; len(idle) > 0 {
		connection, k.idle[dsn] = idle[len(idle)-1], idle[:len(idle)-1]
	}
	k.mu.Unlock()
	if connection != nil {
		return connection, true, nil
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, false, err
	}
	// No statement is prepared: what a name means changes at a promotion.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if connection, err = pgx.ConnectConfig(ctx, config); err == nil {
		t.Cleanup(func() { _ = connection.Close(context.Background()) })
	}
	return connection, false, err
}

// give keeps the connection, but for one that leads through a line: it could be
// dead without anybody knowing.
func (k *kept) give(dsn string, connection *pgx.Conn) {
	if connection.IsClosed() || !strings.HasPrefix(connection.Config().Host, "/") {
		_ = connection.Close(context.Background())
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle[dsn] = append(k.idle[dsn], connection)
}
