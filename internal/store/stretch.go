package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

//go:embed indexes.sql
var indexesSQL string

// stretch is what one transaction of a Bulk is about to commit.
type stretch struct {
	tx      pgx.Tx
	rows    chan []change
	writing *errgroup.Group // of one goroutine, which alone uses tx until it has ended
	ended   <-chan struct{} // closed when writing failed or the caller's context ended
	cause   func() error    // of that
	closed  bool
	indexes []string // statements that make the indexes again
}

// beginStretch opens the transaction. For empty tables it takes the indexes
// away: to make them once, at the end, is quicker than to keep them up.
func beginStretch(ctx context.Context, tx pgx.Tx, schema string, empty bool) (*stretch, error) {
	s := &stretch{tx: tx, rows: make(chan []change, 1)}
	if _, err := tx.Exec(ctx, byKeys); err != nil {
		return nil, err
	}
	if empty {
		if err := s.takeIndexes(ctx, schema); err != nil {
			return nil, err
		}
	}
	writing, ctx := errgroup.WithContext(ctx)
	writing.Go(func() error {
		for changes := range s.rows {
			for _, c := range changes {
				if err := c.copy(ctx, tx); err != nil {
					return err
				}
			}
		}
		return nil
	})
	s.writing, s.ended, s.cause = writing, ctx.Done(), func() error { return context.Cause(ctx) }
	return s, nil
}

func (s *stretch) takeIndexes(ctx context.Context, schema string) error {
	rows, err := s.tx.Query(ctx, indexesSQL, quoted(schema))
	if err != nil {
		return fmt.Errorf("list the indexes: %w", err)
	}
	var drop, create string
	var late bool
	var drops []string
	if _, err := pgx.ForEachRow(rows, []any{&drop, &create, &late}, func() error {
		drops = append(drops, drop)
		if !late {
			s.indexes = append(s.indexes, create)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("list the indexes: %w", err)
	}
	return s.run(ctx, drops)
}

func (s *stretch) makeIndexes(ctx context.Context) error { return s.run(ctx, s.indexes) }

func (s *stretch) run(ctx context.Context, statements []string) error {
	for _, sql := range statements {
		if _, err := s.tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// write hands rows over; they are written in this order. After an error there
// is only flush.
func (s *stretch) write(rows []change) error {
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
func (s *stretch) flush() error {
	if !s.closed {
		s.closed = true
		close(s.rows)
	}
	return s.writing.Wait()
}
