package live

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// transact moves the checkpoints, calls work, and sends the statements that work returns, in one
// transaction. The checkpoints come first, so that a second projector on a partition waits before
// it reads a row. work gets the id of the rows that the tables have. The error may be
// store.ErrFenced or store.ErrFoldID. After an error nothing is committed, unless the connection
// was lost.
//
// Each round trip delays the rows of a delivery. So "begin" is sent with the first statements, and
// "commit" with the last ones. Postgres does not execute "commit" after a statement has failed.
func transact(ctx context.Context, s *store.Store, rules projections.Rules, advance store.Advance, work func(tx pgx.Tx, rows store.RowsID) (last *pgx.Batch, err error)) (err error) {
	connection, err := s.Pool().Acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	var rows store.RowsID
	var moved bool
	sent := connection.SendBatch(ctx, checkpointsFirst(s.Schema(), advance, &rows, &moved))
	tx := sent.Tx()
	defer func() {
		if err != nil {
			_ = tx.Rollback(ctx) // if it fails, pgx closes the connection
		}
	}()
	if err := sent.Close(); err != nil {
		return fmt.Errorf("move the checkpoints: %w", err)
	}
	if rows.FoldID != rules.FoldID() {
		return store.ErrFoldID
	}
	if !moved {
		return store.ErrFenced
	}
	last, err := work(tx, rows)
	if err != nil {
		return err
	}
	last.Queue("commit").Fn = commit
	if err := tx.SendBatch(ctx, last).Close(); err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	return nil
}

// checkpointsFirst returns the first statements of a transaction. When they have been sent, rows and
// moved have their results.
func checkpointsFirst(schema string, advance store.Advance, rows *store.RowsID, moved *bool) *pgx.Batch {
	first := &pgx.Batch{}
	first.BeginTx(pgx.TxOptions{})
	if schema == store.LiveSchema {
		store.WaitForPromotion(first)
	}
	first.Queue(tables.PreferIndexes)
	rows.Queue(first, schema)
	advance.Queue(first, moved)
	return first
}

// commit reads the answer to "commit".
func commit(answers pgx.BatchResults) error {
	answer, err := answers.Exec()
	switch {
	case err != nil:
		return &store.CommitError{Cause: err}
	case answer.String() != "COMMIT":
		return fmt.Errorf("%w: Postgres answered %q", pgx.ErrTxCommitRollback, answer)
	}
	return nil
}
