package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/tables"
)

// RowsID changes when a promotion or settle changes the rows of a schema. A batch does not change
// it. Two values are compared with ==.
type RowsID struct {
	FoldID    string // of the tables; see projections.Rules
	createdAt int64  // in microseconds
	settledAt int64  // 0: never
}

// ReadRowsID reads the current value for a schema.
func ReadRowsID(ctx context.Context, from tables.BatchSender, schema string) (r RowsID, err error) {
	batch := &pgx.Batch{}
	r.Queue(batch, schema)
	if err := from.SendBatch(ctx, batch).Close(); err != nil {
		return r, fmt.Errorf("read the state of schema %s: %w", schema, err)
	}
	return r, nil
}

// Queue queues a query that reads the current value for a schema.
func (r *RowsID) Queue(batch *pgx.Batch, schema string) {
	batch.Queue("select fold_id, created_at, settled_at from payfold.schema_state where schema_name = $1", schema).
		QueryRow(func(row pgx.Row) error {
			var created time.Time
			var settled *time.Time
			if err := row.Scan(&r.FoldID, &created, &settled); err != nil {
				return err
			}
			r.createdAt = created.UnixMicro()
			if settled != nil {
				r.settledAt = settled.UnixMicro()
			}
			return nil
		})
}
