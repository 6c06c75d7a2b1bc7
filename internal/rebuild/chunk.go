package rebuild

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// chunk is what one transaction of a Bulk is about to commit.
type chunk struct {
	tx      pgx.Tx
	fresh   bool                 // the tables are empty and nobody's but this transaction's
	rows    chan []tables.Change // of batches; as many as are written at once may wait meanwhile
	writing *errgroup.Group      // of one goroutine, which alone uses tx until it has ended
	ended   <-chan struct{}      // closed when writing failed or the caller's context ended
	cause   func() error         // of that
	closed  bool
}

func beginChunk(ctx context.Context, tx pgx.Tx, fresh bool, together int) (*chunk, error) {
	s := &chunk{tx: tx, fresh: fresh, rows: make(chan []tables.Change, together)}
	if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
		return nil, err
	}
	if fresh {
		if err := s.empty(ctx); err != nil {
			return nil, err
		}
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

// empty gives the empty tables new files, so that copyIn may take them for fresh.
func (s *chunk) empty(ctx context.Context) error {
	if _, err := s.tx.Exec(ctx, "truncate "+tables.Names()); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	return nil
}

// addedIn lists the new rows of the tables whose rows never change.
func addedIn(s *projections.State) (all []tables.Change) {
	for _, t := range tables.All {
		if t.About().InsertOnly {
			all = append(all, t.ChangesIn(s))
		}
	}
	return all
}

// write hands rows over; those of a table are written in this order. After an error there
// is only flush.
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

// flush waits until all rows are written. There can be no more.
func (s *chunk) flush() error {
	if !s.closed {
		s.closed = true
		close(s.rows)
	}
	return s.writing.Wait()
}

// copiedTogether is how many batches are written at once: what a COPY costs beside
// its rows is little then.
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
