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

// Quarantine has the events that the database has refused in this process. The zero value
// is empty. It is not safe for concurrent use.
type Quarantine struct {
	Pending  QuarantinedEvents // of a rebuild: their rejections are not committed yet
	recorded int
}

// Add quarantines the event of a RefusedError. It returns an error if the cause is the
// database and not the event: the database refuses also the rejection, or too many events.
func (q *Quarantine) Add(refused *RefusedError) error {
	if q.Pending == nil {
		q.Pending = QuarantinedEvents{}
	}
	if _, again := q.Pending[refused.Seq]; again {
		delete(q.Pending, refused.Seq)
		return NotTheEvent(refused.Seq, refused.Cause)
	}
	if err := q.CheckRoom(refused.Cause); err != nil {
		return err
	}
	q.Pending[refused.Seq] = refused.Cause
	return nil
}

// CheckRoom returns an error if this process has quarantined so many events that the database is the cause.
func (q *Quarantine) CheckRoom(cause error) error {
	if q.recorded+len(q.Pending) >= maxQuarantined {
		return fmt.Errorf("the database refuses more than %d events, so the events are not the cause: %w", maxQuarantined, cause)
	}
	return nil
}

// NotTheEvent returns the error of a database that refuses even the rejection of an event.
func NotTheEvent(seq uint64, cause error) error {
	return fmt.Errorf("the database refuses even the rejection of the event at seq %d, so the events are not the cause: %w", seq, cause)
}

// Committed notes that the fold of an event was committed. It does nothing unless the event is pending.
func (q *Quarantine) Committed(ctx context.Context, logger *slog.Logger, seq uint64) {
	if cause, rejected := q.Pending[seq]; rejected {
		delete(q.Pending, seq)
		q.Recorded(ctx, logger, seq, cause)
	}
}

// Recorded notes that the rejection of an event was committed.
func (q *Quarantine) Recorded(ctx context.Context, logger *slog.Logger, seq uint64, cause error) {
	q.recorded++
	logger.ErrorContext(ctx, "an event is quarantined: the database refuses its rows, and it is rejected", "seq", seq, "error", cause)
}

// QuarantinedEvents are the causes for which the database has refused events, by the
// events' sequences. The transaction that rejects the events records them in
// payfold.quarantined_event. From then on every fold of the log rejects them.
type QuarantinedEvents map[uint64]error

// Record records the events for which inBatch returns true.
func (q QuarantinedEvents) Record(ctx context.Context, tx pgx.Tx, logID string, inBatch func(seq uint64) bool) error {
	var seqs []int64
	var causes []string
	for seq, cause := range q {
		if inBatch(seq) {
			seqs, causes = append(seqs, int64(seq)), append(causes, cause.Error())
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `insert into payfold.quarantined_event (log_id, stream_seq, error)
		select $1, * from unnest($2::bigint[], $3::text[]) on conflict do nothing`, logID, seqs, causes)
	if err != nil {
		return fmt.Errorf("record the quarantined events: %w", err)
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
