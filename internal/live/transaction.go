package live

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// transaction writes a batch and moves its checkpoints. begin begins it, and then end must be called. Without a commit
// that returns nil, nothing is committed, unless the connection was lost.
//
// Each round trip delays the rows of a delivery. So "begin" is sent with the first statements, and
// "commit" with the last ones. Postgres does not execute "commit" after a statement has failed.
type transaction struct {
	connection *pgxpool.Conn
	tx         pgx.Tx
	rows       store.RowsID // of the rows that the tables have
	committed  bool
}

// begin moves the checkpoints in a new transaction. They come first, so that a second projector on a partition waits
// before it reads a row. The error may be store.ErrFenced or store.ErrFoldID.
func begin(ctx context.Context, s *store.Store, rules projections.Rules, advance store.Advance) (*transaction, error) {
	connection, err := s.Pool().Acquire(ctx)
	if err != nil {
		return nil, err
	}
	t, first, moved := &transaction{connection: connection}, &pgx.Batch{}, false
	first.BeginTx(pgx.TxOptions{})
	if s.Schema() == store.LiveSchema {
		store.WaitForPromotion(first)
	}
	first.Queue(tables.PreferIndexes)
	t.rows.Queue(first, s.Schema())
	advance.Queue(first, &moved)
	sent := connection.SendBatch(ctx, first)
	t.tx = sent.Tx()
	switch err = sent.Close(); {
	case err != nil:
		err = fmt.Errorf("move the checkpoints: %w", err)
	case t.rows.FoldID != rules.FoldID():
		err = store.ErrFoldID
	case !moved:
		err = store.ErrFenced
	}
	if err != nil {
		t.end(ctx)
		return nil, err
	}
	return t, nil
}

// commit sends the last statements and commits. The error is a store.CommitError if Postgres could not commit.
func (t *transaction) commit(ctx context.Context, last *pgx.Batch) error {
	last.Queue("commit").Fn = answerOfCommit
	if err := t.tx.SendBatch(ctx, last).Close(); err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	t.committed = true
	return nil
}

func answerOfCommit(answers pgx.BatchResults) error {
	answer, err := answers.Exec()
	switch {
	case err != nil:
		return &store.CommitError{Cause: err}
	case answer.String() != "COMMIT":
		return fmt.Errorf("%w: Postgres answered %q", pgx.ErrTxCommitRollback, answer)
	}
	return nil
}

// end rolls back, unless the transaction is committed, and gives its connection back.
func (t *transaction) end(ctx context.Context) {
	if !t.committed {
		_ = t.tx.Rollback(ctx) // if it fails, pgx closes the connection
	}
	t.connection.Release()
}
