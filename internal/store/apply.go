package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// Checkpoint says that every message of a partition up to Position is applied.
type Checkpoint struct {
	Partition int
	Position  uint64
	Digest    []byte // of the message at Position, of whatever partition; nil at 0
	LogID     string
}

// Advance moves the checkpoints of some partitions, each from its own position, to
// one new position of the same log.
type Advance struct {
	LogID  string
	From   map[int]uint64 // partition → the position the batch began at
	To     uint64
	Digest []byte

	Refused Refused // those of the batch are rejected; others don't matter
}

var (
	// ErrFenced: another projector has moved a checkpoint of the batch, or the tables
	// have taken up another log; nothing was written.
	ErrFenced = errors.New("another projector has applied these messages")
	// ErrFoldID: the tables were folded under other rules; nothing was written.
	ErrFoldID = errors.New("the tables belong to another fold id; run: projector rebuild --promote")
)

// maxConflicts bounds the retries of one batch against other projectors: far
// more than chance makes, few enough to notice what no retry cures.
const maxConflicts = 20

// Apply folds the events (in the order of the log) and moves the checkpoints,
// in one transaction; all of it takes effect or nothing. Conflicts with other
// projectors are retried on what they have committed. What the database will
// never take is a RefusedError.
func (s *Store) Apply(ctx context.Context, rules projections.Rules, batch []events.Event, advance Advance) (Result, error) {
	for attempt := 1; ; attempt++ {
		var result Result
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
			result, err = s.applyOnce(ctx, tx, rules, batch, advance)
			return err
		})
		if isConflict(err) && attempt < maxConflicts {
			continue
		}
		return result, refusal(err)
	}
}

// Result says what a batch did.
type Result struct {
	Events     []projections.ProcessedEvent
	Duplicates int
	Disorder   int // events that came after a later one they share a name with
}

func (s *Store) applyOnce(ctx context.Context, tx pgx.Tx, rules projections.Rules, batch []events.Event, advance Advance) (Result, error) {
	if err := moveCheckpoints(ctx, tx, rules.FoldID(), s.schema, advance); err != nil {
		return Result{}, err
	}
	if len(batch) == 0 {
		return Result{}, nil
	}
	inBatch := func(seq uint64) bool {
		return slices.ContainsFunc(batch, func(e events.Event) bool { return e.Seq == seq })
	}
	if err := advance.Refused.record(ctx, tx, advance.LogID, inBatch); err != nil {
		return Result{}, err
	}
	state, err := load(ctx, tx, s.schema, batch)
	if err != nil {
		return Result{}, err
	}
	return s.foldAndSave(ctx, tx, rules, state, batch)
}

func (s *Store) foldAndSave(ctx context.Context, tx pgx.Tx, rules projections.Rules, state *projections.State, batch []events.Event) (Result, error) {
	for _, event := range batch {
		if err := fold(rules, state, event); err != nil {
			return Result{}, err
		}
	}
	result := Result{Events: state.Events.Inserted(), Duplicates: len(state.Duplicates)}
	writes := &pgx.Batch{}
	noteDisorder(writes, s.schema, state, &result.Disorder)
	s.queueChanges(writes, state)
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return Result{}, fmt.Errorf("write the rows: %w", err)
	}
	return result, nil
}

// queueChanges queues what the fold changed, and wakes the inviter where that concerns it.
func (s *Store) queueChanges(writes *pgx.Batch, state *projections.State) {
	for _, c := range changesOf(state) {
		c.queue(writes)
	}
	if s.schema == LiveSchema {
		queueLicensesChanged(writes, state)
	}
}

// fold turns a panic of the rules into a refusal of that event.
func fold(rules projections.Rules, state *projections.State, event events.Event) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &RefusedError{Seq: event.Seq, Cause: fmt.Errorf("the rules panicked: %v", cause)}
		}
	}()
	rules.Fold(state, event)
	return nil
}

// moveCheckpoints comes first in the transaction: it locks the rows, so that a
// second projector on the partition waits here and then finds them moved.
func moveCheckpoints(ctx context.Context, tx pgx.Tx, foldID, schema string, advance Advance) error {
	partitions, expected := inColumns(advance.From)
	var inForce string
	var moved int64
	statements := &pgx.Batch{}
	if schema == LiveSchema {
		// A promotion is bounded by itself, and to wait for it is no fault.
		statements.Queue("set local lock_timeout = 0")
		statements.Queue("select pg_advisory_xact_lock_shared($1)", int64(promoteLock))
		statements.Queue("set local lock_timeout to default")
	}
	statements.Queue(byKeys)
	statements.Queue("select fold_id from payfold.schema_state where schema_name = $1", schema).
		QueryRow(func(row pgx.Row) error { return row.Scan(&inForce) })
	statements.Queue(advanceCheckpoints, partitions, expected, int64(advance.To), advance.Digest, advance.LogID).
		Exec(func(tag pgconn.CommandTag) error { moved = tag.RowsAffected(); return nil })
	if err := tx.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("move the checkpoints: %w", err)
	}
	if inForce != foldID {
		return ErrFoldID
	}
	if moved != int64(len(advance.From)) {
		return ErrFenced
	}
	return nil
}

// inColumns is positions by partition as the statements on checkpoints take them.
func inColumns(at map[int]uint64) (partitions []int32, positions []int64) {
	partitions, positions = make([]int32, 0, len(at)), make([]int64, 0, len(at))
	for partition, position := range at {
		partitions, positions = append(partitions, int32(partition)), append(positions, int64(position))
	}
	return partitions, positions
}

// byKeys is for a transaction that only looks for rows by their keys, many at
// once. While tables fill, Postgres does not know yet how selective that is and
// would read them whole, a thousand times.
const byKeys = "select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
