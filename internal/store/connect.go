package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payfold/payfold/internal/sqlstate"
)

var errNotDSN = errors.New("read the connection string, which is not shown because of its password: it must be like postgres://user:password@host:5432/database; a password or a name with other characters than letters and digits needs %2F for /, %40 for @ and the like")

// CheckDSN returns an error if a connection string cannot be used. It does not connect.
func CheckDSN(dsn string) error {
	_, err := parseDSN(dsn)
	return err
}

func parseDSN(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil && mayShowPassword(dsn) {
		return nil, errNotDSN
	}
	if err != nil {
		return nil, fmt.Errorf("read the connection string: %w", err)
	}
	// Of a password with @ or /, a part was taken for the host or the database, which are shown in messages.
	if host := config.ConnConfig.Host; strings.Index(host, "@") > 0 && host[0] != '/' || strings.Contains(config.ConnConfig.Database, "@") && hasLateAt(dsn) {
		return nil, errNotDSN
	}
	if mode := config.ConnConfig.DefaultQueryExecMode; mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
		return nil, fmt.Errorf("default_query_exec_mode %s is not supported: rows are read in the binary format", mode)
	}
	return config, nil
}

// hasLateAt reports whether a URL has an @ after its host. In the name of a database it must be %40.
func hasLateAt(dsn string) bool {
	parsed, err := url.Parse(dsn)
	return err != nil || parsed.Scheme != "" && strings.Contains(parsed.EscapedPath()+parsed.RawQuery, "@")
}

// mayShowPassword reports whether an error of pgx about this string may show a part of its password. pgx hides the
// password only where it is sure where that ends.
func mayShowPassword(dsn string) bool {
	parsed, err := url.Parse(dsn)
	return err != nil || strings.Contains(strings.ToLower(dsn), "password") ||
		strings.Count(dsn, "@") > 1 || strings.Contains(dsn, "@") && parsed.User == nil
}

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
