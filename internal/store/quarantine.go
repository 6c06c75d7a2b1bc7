package store

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// maxQuarantined bounds how many events one process quarantines. If the database refuses
// more, its cause is the database: for example a constraint that somebody added.
const maxQuarantined = 100

// Quarantine counts the events that this process has quarantined. The zero value is none. It is not safe for concurrent
// use.
type Quarantine struct{ recorded int }

// CheckRoom returns an error if this process has quarantined so many events that the database is the cause.
func (q *Quarantine) CheckRoom(cause error) error {
	if q.recorded >= maxQuarantined {
		return fmt.Errorf("the database refuses more than %d events, so the events are not the cause: %w", maxQuarantined, cause)
	}
	return nil
}

// NotTheEvent returns the error of a database that refuses even the rejection of an event.
func NotTheEvent(seq uint64, cause error) error {
	return fmt.Errorf("the database refuses even the rejection of the event at seq %d, so the events are not the cause: %w", seq, cause)
}

// Recorded notes that the rejection of an event was committed.
func (q *Quarantine) Recorded(ctx context.Context, logger *slog.Logger, seq uint64, cause error) {
	q.recorded++
	logger.ErrorContext(ctx, "an event is quarantined: the database refuses its rows, and it is rejected", "seq", seq, "error", cause)
}

// RecordQuarantined records that the database has refused an event of the log. The transaction must also reject the event.
// From then on every fold of the log rejects it.
func RecordQuarantined(ctx context.Context, tx pgx.Tx, logID string, seq uint64, cause error) error {
	_, err := tx.Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) values ($1, $2, $3) on conflict do nothing",
		logID, int64(seq), cause.Error())
	if err != nil {
		return fmt.Errorf("record the quarantined event: %w", err)
	}
	return nil
}

// IsQuarantined reports whether an event of the schema's log is quarantined.
func IsQuarantined(ctx context.Context, q Querier, schema string, seq uint64) (quarantined bool, err error) {
	err = q.QueryRow(ctx, `select exists (select from payfold.quarantined_event join payfold.schema_state using (log_id)
		where schema_name = $1 and stream_seq = $2)`, schema, int64(seq)).Scan(&quarantined)
	if err != nil {
		return false, fmt.Errorf("look for the quarantined event: %w", err)
	}
	return quarantined, nil
}

// QueueRelease queues the removal of an event of the schema's log from the quarantine. The transaction must also fold
// the event again.
func QueueRelease(batch *pgx.Batch, schema string, seq uint64) {
	batch.Queue(`delete from payfold.quarantined_event q using payfold.schema_state s
		where s.schema_name = $1 and s.log_id = q.log_id and q.stream_seq = $2`, schema, int64(seq))
}
