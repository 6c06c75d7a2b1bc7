package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/tables"
)

var (
	// ErrNotPrepared means that no projector of this build has prepared the schema yet.
	ErrNotPrepared = errors.New("the database has no tables of payfold yet; a projector makes them when it starts")
	// ErrUnknown means that the tables have no event, payment or user of that name.
	ErrUnknown = errors.New("nothing is known of it")
	// ErrReplaced means that a promotion or a drop has replaced the tables during a read, so
	// its result is of two sets of tables.
	ErrReplaced = errors.New("the tables were replaced during the read; retry")
)

// maxReads limits the retries after concurrent promotions.
const maxReads = 3

// View calls read in a read-only transaction in which all statements see the database at
// the same moment. A promotion or a drop between two statements would show two sets of
// tables; View then calls read again, at most maxReads times in all. So read must discard
// what an earlier call has found.
func (s *Store) View(ctx context.Context, read func(context.Context, pgx.Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			if s.schema != s.config.Schema { // see At
				if _, err := tx.Exec(ctx, "select set_config('search_path', $1, true)", Quoted(s.schema)); err != nil {
					return fmt.Errorf("begin: %w", err)
				}
			}
			before, err := s.FindTables(ctx, tx)
			if err != nil {
				return err
			}
			if err := read(ctx, tx); err != nil {
				return err
			}
			return s.CheckTables(ctx, tx, before)
		})
		if (errors.Is(err, ErrReplaced) || NotPrepared(err)) && attempt < maxReads {
			continue
		}
		return err
	}
}

// CheckTables returns ErrReplaced if other tables have the schema's name by now.
func (s *Store) CheckTables(ctx context.Context, tx pgx.Tx, tables TablesID) error {
	// A session notices that a table was renamed when it takes a lock.
	if _, err := tx.Exec(ctx, "lock table "+Qualified(s.schema, "processed_event")+" in access share mode"); err != nil {
		return fmt.Errorf("find the tables again: %w", err)
	}
	if now, err := s.FindTables(ctx, tx); err != nil || now != tables {
		return errors.Join(err, ErrReplaced)
	}
	return nil
}

// TablesID identifies the set of tables that has a schema's name at one moment.
type TablesID uint32

// FindTables returns the tables that have the schema's name now, also in a transaction that
// sees an earlier moment. It returns ErrNotPrepared if there are none, and ErrPartOfADatabase if schema payfold is not there.
func (s *Store) FindTables(ctx context.Context, q Querier) (oid TablesID, err error) {
	var durable bool
	err = q.QueryRow(ctx, "select coalesce(to_regclass($1)::oid, 0), to_regclass('payfold.schema_state') is not null",
		Qualified(s.schema, "processed_event")).Scan(&oid, &durable)
	if err != nil {
		return 0, fmt.Errorf("find the tables: %w", err)
	}
	switch {
	case oid == 0:
		return 0, ErrNotPrepared
	case !durable:
		return 0, fmt.Errorf("there is no schema payfold: %w", ErrPartOfADatabase)
	}
	return oid, nil
}

// RowsID changes when a promotion or settle changes the rows of a schema. A batch does not change
// it. Two values are compared with ==.
type RowsID struct {
	FoldID               string // of the tables; see projections.Rules
	createdAt, settledAt string // as Postgres writes them in UTC; settledAt is empty before the first settle
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
	batch.Queue(`select fold_id, created_at::text, coalesce(settled_at::text, '')
		from payfold.schema_state where schema_name = $1`, schema).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.FoldID, &r.createdAt, &r.settledAt) })
}
