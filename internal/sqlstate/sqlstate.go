// Package sqlstate reads the SQLSTATE of errors of Postgres.
package sqlstate

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Of returns the SQLSTATE of an error of Postgres, empty for any other error.
func Of(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
