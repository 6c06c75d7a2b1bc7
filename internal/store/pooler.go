package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/payfold/payfold/internal/sqlstate"
)

// ErrPooler means that the address is that of a connection pooler, which does not give each client a session with the
// settings that it asks for.
var ErrPooler = errors.New("the database is behind a connection pooler; DATABASE_URL must name Postgres itself")

// lostSettings lists the settings that the session has not got from its client. It also turns transaction_timeout off,
// which would end a long verify. Before PostgreSQL 17 there is no such setting, and a new session that asks for it is
// refused.
const lostSettings = `select string_agg(name, ', ' order by name),
		(select set_config('transaction_timeout', '0', false) where current_setting('transaction_timeout', true) is not null)
	from pg_settings
	where name = any($1) and (source not in ('client', 'session') or name = 'search_path' and setting <> $2)`

// checkSettings returns ErrPooler if a new session lacks one of the settings. A pooler drops those in its
// ignore_startup_parameters, and its connect_query can give all clients the same ones. With another search_path a
// candidate would be written into the live tables, and verify would compare the live tables with themselves. The answer
// must come within timeout: a server can let a client in and then say nothing.
func checkSettings(settings map[string]string, timeout time.Duration) pgconn.AfterConnectFunc {
	names := slices.Sorted(maps.Keys(settings))
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		array := []byte("{" + strings.Join(names, ",") + "}")
		values, types := [][]byte{array, []byte(settings["search_path"])}, []uint32{pgtype.TextArrayOID, pgtype.TextOID}
		answer := conn.ExecParams(ctx, lostSettings, values, types, nil, nil).Read()
		if answer.Err != nil {
			return fmt.Errorf("read the settings of the session: %w", answer.Err)
		}
		if lost := answer.Rows[0][0]; lost != nil {
			return fmt.Errorf("%w (the session lacks these settings: %s)", ErrPooler, lost)
		}
		return nil
	}
}

// PoolerOr returns ErrPooler if that explains an error of a connect, otherwise err. A pooler answers a startup
// parameter that it does not know with a protocol violation. Postgres does not.
func PoolerOr(err error) error {
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) && !errors.Is(err, ErrPooler) && sqlstate.Of(err) == "08P01" { // protocol_violation
		return fmt.Errorf("%w: %w", ErrPooler, err)
	}
	return err
}
