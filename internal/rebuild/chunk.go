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
	files   *chunkFiles          // the files that it writes into; nil if not all places are known
	fresh   bool                 // this transaction has emptied the tables, and no other can see them
	rows    chan []tables.Change // of each batch; as many batches may wait as one COPY writes
	writing *errgroup.Group      // one goroutine, the only user of tx until it ends
	ctx     context.Context      // ends when writing fails or the caller's context ends
	closed  bool
}

// errOthersWait means that another session waits for a lock on the tables that conflicts with the
// locks of a chunk.
var errOthersWait = errors.New("another session waits for the tables")

// holdTables locks the tables, so that no other session moves rows until the chunk ends. The chunk reads rows in a
// second session, which takes its locks now. Later it would queue behind sessions that wait for the end of this chunk.
func (c *chunk) holdTables(ctx context.Context, reads *pgxpool.Conn) (err error) {
	if _, err = c.tx.Exec(ctx, "lock table "+tables.Names()+" in row exclusive mode"); err != nil {
		return fmt.Errorf("lock the tables: %w", err)
	}
	if c.reads, err = reads.Begin(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	_, err = c.reads.Exec(ctx, "lock table "+tables.Names()+" in access share mode nowait")
	switch {
	case store.TimedOut(err):
		return errOthersWait
	case err != nil:
		return fmt.Errorf("lock the tables: %w", err)
	}
	return nil
}

// writeSoon makes Postgres write the pages of a chunk to the disk early. Otherwise a chunk of a million events leaves
// some 400 MB to the fsync at its end. During that fsync no delivery on the same disk is answered.
const writeSoon = "set local backend_flush_after = '256kB'"

// begin starts to write.
func (c *chunk) begin(ctx context.Context, together int) error {
	for _, setting := range []string{tables.PreferIndexes, writeSoon} {
		if _, err := c.tx.Exec(ctx, setting); err != nil {
			return err
		}
	}
	c.rows = make(chan []tables.Change, together)
	tx, fresh := c.tx, c.fresh
	writing, ctx := errgroup.WithContext(ctx)
	writing.Go(func() error {
		var waiting [][]tables.Change
		for changes := range c.rows {
			if waiting = append(waiting, changes); len(waiting) == together {
				if err := copyTogether(ctx, tx, fresh, waiting); err != nil {
					return err
				}
				waiting = nil
			}
		}
		return copyTogether(ctx, tx, fresh, waiting)
	})
	c.writing, c.ctx = writing, ctx
	return nil
}

// commit ends the chunk. All reads and writes must have ended before.
func (c *chunk) commit(ctx context.Context) error {
	if err := c.tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if c.reads != nil {
		_ = c.reads.Rollback(ctx) // the next use of the connection returns an error, too
	}
	return nil
}

// giveUp rolls the chunk back. All reads and writes must have ended before.
func (c *chunk) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), store.CleanUpTimeout)
	defer cancel()
	for _, tx := range []pgx.Tx{c.tx, c.reads} {
		if tx != nil {
			_ = tx.Rollback(ctx)
		}
	}
}

// emptyTables truncates the empty tables, so that COPY can write frozen rows, and stops autovacuum.
func emptyTables(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "truncate "+tables.Names()); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	return store.StopAutovacuum(ctx, tx)
}

// write queues rows. They are written in this order. After an error only flush may be called.
func (c *chunk) write(rows []tables.Change) error {
	select {
	case c.rows <- rows:
		return nil
	case <-c.ctx.Done():
		if err := c.flush(); err != nil {
			return err
		}
		return context.Cause(c.ctx)
	}
}

// flush waits until all rows are written. After flush, write must not be called.
func (c *chunk) flush() error {
	if !c.closed {
		c.closed = true
		close(c.rows)
	}
	return c.writing.Wait()
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
		if err := tables.CopyIn(ctx, tx, c.Table(), fresh, tables.Concat(parts)); err != nil {
			return err
		}
	}
	return nil
}
