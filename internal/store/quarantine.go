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
	Pending  QuarantinedEvents // their rejections are not committed yet
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
		return fmt.Errorf("the database refuses even the rejection of the event at seq %d, so the events are not the cause: %w", refused.Seq, refused.Cause)
	}
	if q.recorded+len(q.Pending) >= maxQuarantined {
		return fmt.Errorf("the database refuses more than %d events, so the events are not the cause: %w", maxQuarantined, refused.Cause)
	}
	q.Pending[refused.Seq] = refused.Cause
	return nil
}

// Forget forgets the events whose rejections are not committed. If the database still refuses them, they are added
// again.
func (q *Quarantine) Forget() { q.Pending = nil }

// Committed notes that the fold of an event was committed, and reports whether the event
// was rejected because it is quarantined.
func (q *Quarantine) Committed(ctx context.Context, logger *slog.Logger, seq uint64) bool {
	cause, rejected := q.Pending[seq]
	if rejected {
		delete(q.Pending, seq)
		q.recorded++
		logger.ErrorContext(ctx, "an event is quarantined: the database refuses its rows, and it is rejected", "seq", seq, "error", cause)
	}
	return rejected
}

// QuarantinedEvents are the causes for which the database has refused events, by the
// events' sequences. The batch that has them rejects the events and records them in
// payfold.quarantined_event, in the same transaction. From then on every fold of the log rejects them.
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
