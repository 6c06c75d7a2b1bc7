package store

import (
	"errors"
	"strings"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/sqlstate"
)

// RefusedError means that the database refuses the rows of a batch and would refuse them
// again, or that the rules have panicked. Nothing was written.
type RefusedError struct {
	Seq   uint64 // of the event; 0 if any of the batch may be the cause
	Cause error
}

func (e *RefusedError) Error() string { return "refused: " + e.Cause.Error() }

func (e *RefusedError) Unwrap() error { return e.Cause }

// CommitError means that Postgres did not commit, although it had accepted every row. If the connection was lost, it
// may have committed.
type CommitError struct{ Cause error }

func (e *CommitError) Error() string { return "commit: " + e.Cause.Error() }

func (e *CommitError) Unwrap() error { return e.Cause }

// AsRefused returns err, wrapped in a RefusedError if the database would refuse the same rows again, or the rules have
// panicked.
func AsRefused(err error) error {
	var panicked *projections.PanicError
	if errors.As(err, &panicked) {
		return &RefusedError{panicked.Seq, err}
	}
	if isRefused(err) {
		return &RefusedError{Cause: err}
	}
	return err
}

// NotPrepared reports whether a table or its schema does not exist. It may have been
// renamed or dropped during a read.
func NotPrepared(err error) bool {
	code := sqlstate.Of(err)
	return code == "42P01" || code == "3F000" // undefined_table, invalid_schema_name
}

// IsConflict reports whether another transaction has changed the same rows. The same batch
// can be folded again on what that transaction has committed.
func IsConflict(err error) bool {
	switch sqlstate.Of(err) {
	case "23505", // unique_violation: a row that did not exist when we loaded
		"40001", // serialization_failure
		"40P01": // deadlock_detected
		return true
	}
	return false
}

// isRefused reports whether the cause of the error is the values of the rows, not the state
// of the database.
func isRefused(err error) bool {
	code := sqlstate.Of(err)
	if code == "" {
		return false
	}
	switch code[:2] {
	case "22", // data exception: a text, number or time the type cannot hold
		"23": // integrity constraint violation, also of a deferred constraint
		return true
	case "54": // program limit exceeded, such as the size of an index row; at the commit, the queue of notifications
		return !errors.As(err, new(*CommitError))
	}
	return code == "P0001" // raise_exception, by a trigger that an operator added
}

// TimedOut reports whether another session held a lock for longer than lock_timeout.
func TimedOut(err error) bool {
	return sqlstate.Of(err) == "55P03" // lock_not_available
}

// StatementTimedOut reports whether a statement took longer than statement_timeout, or somebody cancelled it.
func StatementTimedOut(err error) bool { return sqlstate.Of(err) == "57014" } // query_canceled

// onlyReads reports whether the session cannot write, because it began on a standby, or while writing
// was off for its database. The session stays so after a fail-over that its address follows, and after
// writing is on again. So it must end; the next one may write.
func onlyReads(err error) bool { return sqlstate.Of(err) == "25006" } // read_only_sql_transaction

// ConnectionLost reports whether the cause of the error is the connection or a stopping server, so
// that the same call may succeed on another connection. It returns true for every error that
// Postgres has not sent, except ErrNoSchema.
func ConnectionLost(err error) bool {
	if errors.Is(err, ErrNoSchema) {
		return false
	}
	code := sqlstate.Of(err)
	return code == "" || strings.HasPrefix(code, "57") || strings.HasPrefix(code, "08") // operator intervention, connection exception
}
