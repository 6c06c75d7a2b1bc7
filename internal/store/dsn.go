package store

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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
