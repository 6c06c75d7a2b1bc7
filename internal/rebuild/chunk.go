package rebuild

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// chunk writes the rows of one transaction of a Bulk.
type chunk struct {
	tx      pgx.Tx
	fresh   bool                 // this transaction has emptied the tables, and no other can see them
	rows    chan []tables.Change // of each batch; as many batches may wait as are written at once
	writing *errgroup.Group      // one goroutine, the only user of tx until it ends
	ended   <-chan struct{}      // closed when writing fails or the caller's context ends
	cause   func() error         // why ended is closed
	closed  bool
	files   *chunkFiles // that it writes into; nil where indexes find the rows
}

func beginChunk(ctx context.Context, tx pgx.Tx, fresh bool, together int) (*chunk, error) {
	s := &chunk{tx: tx, fresh: fresh, rows: make(chan []tables.Change, together)}
	if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
		return nil, err
	}
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
	return s, nil
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
