package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrFenced: another projector has moved a checkpoint of the batch, or the tables
// have taken up another log; nothing was written.
var ErrFenced = errors.New("another projector has applied these messages")

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

//go:embed advance_checkpoints.sql
var advanceCheckpoints string

// Queue queues the statement, which locks the rows: a second projector on a partition
// waits there and then finds it moved. moved says, in the end, whether all partitions
// were where they ought to have been.
func (a Advance) Queue(batch *pgx.Batch, moved *bool) {
	partitions, expected := inColumns(a.From)
	batch.Queue(advanceCheckpoints, partitions, expected, int64(a.To), a.Digest, a.LogID).Exec(func(tag pgconn.CommandTag) error {
		*moved = tag.RowsAffected() == int64(len(a.From))
		return nil
	})
}

// Move moves the checkpoints at once; ErrFenced where one of them is elsewhere.
func (a Advance) Move(ctx context.Context, tx pgx.Tx) error {
	batch, moved := &pgx.Batch{}, false
	a.Queue(batch, &moved)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("move the checkpoints: %w", err)
	}
	if !moved {
		return ErrFenced
	}
	return nil
}

//go:embed lock_checkpoints.sql
var lockCheckpoints string

// LockPositions comes first in a transaction of a command that fills tables: another one
// that works on them must not do the same. Where they do not stand at these positions of
// that log, ErrFenced. What another one is about to commit is waited for.
func LockPositions(ctx context.Context, tx pgx.Tx, logID string, at map[int]uint64) error {
	partitions, expected := inColumns(at)
	var locked int
	if err := tx.QueryRow(ctx, lockCheckpoints, partitions, expected, logID).Scan(&locked); err != nil {
		return fmt.Errorf("lock the checkpoints: %w", err)
	}
	if locked != len(partitions) {
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

// Checkpoints returns all checkpoints, by partition.
func (s *Store) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	rows, err := s.pool.Query(ctx,
		"select partition, position, position_digest, log_id from checkpoint order by partition")
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	checkpoints, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Checkpoint])
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	return checkpoints, nil
}

// Positions is up to where the tables hold each partition.
func (s *Store) Positions(ctx context.Context) (map[int]uint64, error) {
	return PositionsIn(ctx, s.pool)
}

// PositionsIn is Positions of the schema that search_path leads to.
func PositionsIn(ctx context.Context, q Querier) (map[int]uint64, error) {
	rows, err := q.Query(ctx, "select partition, position from checkpoint")
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	out := map[int]uint64{}
	var partition int
	var position int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &position}, func() error {
		out[partition] = uint64(position)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	return out, nil
}
