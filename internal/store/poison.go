package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// RefusedError: the database refuses what the batch would write, and would
// again; or the rules panicked. Nothing was written.
type RefusedError struct {
	Seq   uint64 // of the event; 0 where any of the batch may be the cause
	Cause error
}

func (e *RefusedError) Error() string { return "refused: " + e.Cause.Error() }

func (e *RefusedError) Unwrap() error { return e.Cause }

// isRefusal: the values are at fault, not the database's state.
func isRefusal(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code[:2] {
	case "22", // data exception: a text, number or time the type cannot hold
		"23", // integrity constraint violation
		"54": // program limit exceeded, such as the size of an index row
		return true
	}
	return pg.Code == "P0001" // raise_exception, of a trigger someone added
}

// Pardon takes back that the event at seq is refused.
func (s *Store) Pardon(ctx context.Context, seq uint64) error {
	_, err := s.pool.Exec(ctx, `delete from payfold.poison p using payfold.schema_state s
		where s.schema_name = $1 and p.log_id = s.log_id and p.stream_seq = $2`, s.schema, int64(seq))
	if err != nil {
		return fmt.Errorf("take back that the event at seq %d is refused: %w", seq, err)
	}
	return nil
}

// Poison records that the event at seq is refused: from now on every fold of
// this log rejects it. Recording it again changes nothing.
func (s *Store) Poison(ctx context.Context, seq uint64, cause error) error {
	_, err := s.pool.Exec(ctx, `insert into payfold.poison (log_id, stream_seq, error)
		select log_id, $2, $3 from payfold.schema_state where schema_name = $1 on conflict do nothing`,
		s.schema, int64(seq), cause.Error())
	if err != nil {
		return fmt.Errorf("record that the event at seq %d is refused: %w", seq, err)
	}
	return nil
}
