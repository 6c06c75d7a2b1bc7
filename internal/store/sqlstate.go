package store

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// What Postgres says with a refusal, by its SQLSTATE.

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// UndefinedColumn: the tables lack a column that a later build has.
func UndefinedColumn(err error) bool { return sqlState(err) == "42703" }

// NotPrepared says whether an error is that of tables which are not there: not yet,
// or a moment ago under another name.
func NotPrepared(err error) bool {
	code := sqlState(err)
	return code == "42P01" || code == "3F000" // undefined_table, invalid_schema_name
}

// IsConflict: another transaction won, and the same batch can be folded again
// on what it committed.
func IsConflict(err error) bool {
	switch sqlState(err) {
	case "23505", // unique_violation: a row that did not exist when we loaded
		"40001", // serialization_failure
		"40P01": // deadlock_detected
		return true
	}
	return false
}

// isRefusal: the values are at fault, not the database's state.
func isRefusal(err error) bool {
	code := sqlState(err)
	if code == "" {
		return false
	}
	switch code[:2] {
	case "22", // data exception: a text, number or time the type cannot hold
		"23", // integrity constraint violation
		"54": // program limit exceeded, such as the size of an index row
		return true
	}
	return code == "P0001" // raise_exception, of a trigger someone added
}

// TimedOut: somebody holds a lock for longer than lock_timeout.
func TimedOut(err error) bool {
	return sqlState(err) == "55P03" // lock_not_available
}

// ConnectionLost: the same question may have an answer on another connection.
func ConnectionLost(err error) bool {
	if errors.Is(err, ErrNoSchema) {
		return false
	}
	code := sqlState(err) // of a server that answered, but for operator intervention and connection exceptions
	return code == "" || strings.HasPrefix(code, "57") || strings.HasPrefix(code, "08")
}
