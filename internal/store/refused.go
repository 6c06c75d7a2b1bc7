package store

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

// AsRefused returns err, wrapped in a RefusedError if the database would refuse the
// same rows again.
func AsRefused(err error) error {
	if isRefused(err) {
		return &RefusedError{Cause: err}
	}
	return err
}
