package rebuild

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// chunk writes the rows of one transaction of a Bulk.
type chunk struct {
	tx      pgx.Tx
	reads   pgx.Tx               // reads the rows of earlier chunks; nil if fresh
	files   *chunkFiles          // that it writes into; nil if not all places are known
	fresh   bool                 // this transaction has emptied the tables, and no other can see them
	rows    chan []tables.Change // of each batch; as many batches may wait as are written at once
	writing *errgroup.Group      // one goroutine, the only user of tx until it ends
	ended   <-chan struct{}      // closed when writing fails or the caller's context ends
	cause   func() error         // why ended is closed
	closed  bool
}

// errOthersWait says that another session waits for a lock on the tables that no chunk lets it have.
var errOthersWait = errors.New("another session waits for the tables")

// holdTables keeps others from moving rows until the chunk ends, and lets it read them. Rows are read by another
// session than that which writes. If that one had no locks of its own, it would have to queue behind those who wait
// until this chunk ends.
func (s *chunk) holdTables(ctx context.Context, reads *pgxpool.Conn) (err error) {
	if _, err = s.tx.Exec(ctx, "lock table "+tables.Names()+" in row exclusive mode"); err != nil {
		return fmt.Errorf("lock the tables: %w", err)
	}
	if s.reads, err = reads.Begin(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	_, err = s.reads.Exec(ctx, "lock table "+tables.Names()+" in access share mode nowait")
	switch {
	case store.TimedOut(err):
		return errOthersWait
	case err != nil:
		return fmt.Errorf("lock the tables: %w", err)
	}
	return nil
}

// writeSoon makes Postgres hand what a chunk writes to the disk all along. Otherwise a chunk of a million events leaves
// some 400 MB to the fsync at its end, during which no delivery on the same disk is answered.
const writeSoon = "set local backend_flush_after = '256kB'"

// begin starts to write.
func (s *chunk) begin(ctx context.Context, together int) error {
	for _, setting := range []string{tables.PreferIndexes, writeSoon} {
		if _, err := s.tx.Exec(ctx, setting); err != nil {
			return err
		}
	}
	s.rows = make(chan []tables.Change, together)
	tx, fresh := s.tx, s.fresh
	writing, ctx := errgroup.WithContext(ctx)
	writing.Go(func() error {
		var waiting [][]tables.Change
		for changes := range s.rows {
			if waiting = append(waiting, changes); len(waiting) == together {
				if err := copyTogether(ctx, tx, fresh, waiting); err != nil {
					return err
				}
				waiting = nil
			}
		}
		return copyTogether(ctx, tx, fresh, waiting)
	})
	s.writing, s.ended, s.cause = writing, ctx.Done(), func() error { return context.Cause(ctx) }
	return nil
}

// commit ends the chunk. Nothing is written or read any more.
func (s *chunk) commit(ctx context.Context) error {
	if err := s.tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if s.reads != nil {
		_ = s.reads.Rollback(ctx) // an error comes again from what the connection does next
	}
	return nil
}

// giveUp ends the chunk, of which nothing stays. Nobody writes or reads any more.
func (s *chunk) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), store.CleanUpTimeout)
	defer cancel()
	for _, tx := range []pgx.Tx{s.tx, s.reads} {
		if tx != nil {
			_ = tx.Rollback(ctx)
		}
	}
}

// emptyTables gives the empty tables new files. So COPY can write frozen rows.
func emptyTables(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "truncate "+tables.Names()); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	return store.StopAutovacuum(ctx, tx)
}

// write queues rows, which are written in this order. After an error only flush may be
// called.
func (s *chunk) write(rows []tables.Change) error {
	select {
	case s.rows <- rows:
		return nil
	case <-s.ended:
		if err := s.flush(); err != nil {
			return err
		}
		return s.cause()
	}
}

// flush waits until all rows are written. After it write must not be called.
func (s *chunk) flush() error {
	if !s.closed {
		s.closed = true
		close(s.rows)
	}
	return s.writing.Wait()
}

// copiedTogether is how many batches one COPY writes, which makes its fixed cost small.
const copiedTogether = 40

// copyTogether writes the new rows of several batches, table by table.
func copyTogether(ctx context.Context, tx pgx.Tx, fresh bool, batches [][]tables.Change) error {
	if len(batches) == 0 {
		return nil
	}
	for i, c := range batches[0] {
		var parts []tables.RowEncoder
		for _, batch := range batches {
			parts = append(parts, batch[i].EncodeInserted())
		}
		table, columns := c.Layout()
		if err := tables.CopyIn(ctx, tx, table, columns, fresh, tables.Concat(parts)); err != nil {
			return err
		}
	}
	return nil
}
