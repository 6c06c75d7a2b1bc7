package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrFenced means that another projector has moved a checkpoint of the batch, or that the
// tables now belong to another log. Nothing was written.
var ErrFenced = errors.New("another projector has applied these messages")

// Checkpoint says that every message of a partition up to Position is applied.
type Checkpoint struct {
	Partition int
	Position  uint64
	Digest    []byte // of the message at Position, which may be of any partition; nil at 0, and if a log was adopted
	LogID     string
}

// Advance moves the checkpoints of some partitions, each from its own position, to
// one new position of the same log.
type Advance struct {
	LogID  string
	From   map[int]uint64 // partition → the position where the batch begins
	To     uint64
	Digest []byte // of the message at To
}

//go:embed advance_checkpoints.sql
var advanceCheckpoints string

// Queue queues the statement. It locks the rows, so a second projector on a partition
// waits and then finds that the checkpoint has moved. When the batch has been sent, moved
// says whether every partition was at its expected position and all have moved. If not,
// some may have moved, so the caller must roll back.
func (a Advance) Queue(batch *pgx.Batch, moved *bool) {
	partitions, expected := partitionsAndPositions(a.From)
	batch.Queue(advanceCheckpoints, partitions, expected, int64(a.To), a.Digest, a.LogID).Exec(func(tag pgconn.CommandTag) error {
		*moved = tag.RowsAffected() == int64(len(a.From))
		return nil
	})
}

// Move moves the checkpoints, or returns ErrFenced if one is at another position or of
// another log. Then the caller must roll back; see Queue.
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

// LockPositions locks the checkpoints until the transaction ends, or returns ErrFenced
// if they are not at these positions of this log. A command that fills tables calls it
// first in each transaction, so that no other command fills the same tables. It waits for
// a transaction that has locked them.
func LockPositions(ctx context.Context, tx pgx.Tx, logID string, at map[int]uint64) error {
	partitions, expected := partitionsAndPositions(at)
	var locked int
	if err := tx.QueryRow(ctx, lockCheckpoints, partitions, expected, logID).Scan(&locked); err != nil {
		return fmt.Errorf("lock the checkpoints: %w", err)
	}
	if locked != len(partitions) {
		return ErrFenced
	}
	return nil
}

// partitionsAndPositions returns the map as two arrays for a statement.
func partitionsAndPositions(at map[int]uint64) (partitions []int32, positions []int64) {
	partitions, positions = make([]int32, 0, len(at)), make([]int64, 0, len(at))
	for partition, position := range at {
		partitions, positions = append(partitions, int32(partition)), append(positions, int64(position))
	}
	return partitions, positions
}

// Checkpoints returns all checkpoints, ordered by partition.
func (s *Store) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	return CheckpointsIn(ctx, s.pool)
}

// CheckpointsIn is Checkpoints, read by q from the schema of its search_path.
func CheckpointsIn(ctx context.Context, q Querier) ([]Checkpoint, error) {
	return Collect(ctx, q, "read the checkpoints", pgx.RowToStructByPos[Checkpoint],
		"select partition, position, position_digest, log_id from checkpoint order by partition")
}

// Positions returns the position of each partition's checkpoint.
func (s *Store) Positions(ctx context.Context) (map[int]uint64, error) {
	return PositionsIn(ctx, s.pool)
}

// PositionsIn is Positions, read by q from the schema of its search_path.
func PositionsIn(ctx context.Context, q Querier) (map[int]uint64, error) {
	rows, _ := q.Query(ctx, "select partition, position from checkpoint") // ForEachRow returns its error
	out := map[int]uint64{}
	var partition int
	var position int64
	_, err := pgx.ForEachRow(rows, []any{&partition, &position}, func() error {
		out[partition] = uint64(position)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	return out, nil
}

// Applied returns those of the sequences whose messages the tables on search_path have.
func Applied(ctx context.Context, q Querier, seqs []uint64) ([]uint64, error) {
	return Collect(ctx, q, "look for messages in the tables", pgx.RowTo[uint64], `select stream_seq from processed_event where stream_seq = any($1)
		union all select stream_seq from duplicate_event where stream_seq = any($1)`, seqs)
}
