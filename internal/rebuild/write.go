package rebuild

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// writer fills some tables with COPY, in one transaction, which empties them first.
type writer struct {
	tables  []int // of tables.All
	tx      pgx.Tx
	folded  chan [][]byte
	waiting [][][]byte
	size    int // of the rows that wait
}

const (
	// copiedTogether is how many bytes of rows are written with one COPY a table, which makes its fixed cost small.
	copiedTogether = 4 << 20
	// writeSoon makes Postgres write the pages to the disk early. Otherwise a million events leave some 400 MB to the
	// fsync at the end. During that fsync no delivery on the same disk is answered.
	writeSoon = "set local backend_flush_after = '256kB'"
	// mayWait: a session has nothing to write while many connected events are folded.
	mayWait = "set local idle_in_transaction_session_timeout = 0"
)

// newWriters begins a transaction on each connection. Each has some of the tables, so that Postgres writes on two cores.
func newWriters(ctx context.Context, connections []*pgxpool.Conn) (writers []*writer, err error) {
	for i, connection := range connections {
		w := &writer{folded: make(chan [][]byte, 4)}
		for n, table := range tables.All {
			records := table == tables.AnyTable(tables.ProcessedEvents) || table == tables.AnyTable(tables.DuplicateEvents)
			if records == (i == 0) && !table.About().Extra {
				w.tables = append(w.tables, n)
			}
		}
		if w.tx, err = connection.Begin(ctx); err != nil {
			return writers, fmt.Errorf("begin: %w", err)
		}
		writers = append(writers, w)
	}
	return writers, nil
}

// begin empties the tables, so that COPY can write frozen rows, and stops autovacuum.
func (w *writer) begin(ctx context.Context) error {
	var names []string
	for _, n := range w.tables {
		names = append(names, tables.All[n].About().Name)
	}
	if _, err := w.tx.Exec(ctx, "truncate "+strings.Join(names, ", ")); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	if err := store.StopAutovacuum(ctx, w.tx, names...); err != nil {
		return err
	}
	_, err := w.tx.Exec(ctx, writeSoon+"; "+mayWait)
	return err
}

// run writes everything that is folded until the channel is closed.
func (w *writer) run(ctx context.Context) error {
	for one := range w.folded {
		w.waiting = append(w.waiting, one)
		for _, n := range w.tables {
			w.size += len(one[n])
		}
		if w.size >= copiedTogether {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return w.flush(ctx)
}

func (w *writer) flush(ctx context.Context) error {
	for _, n := range w.tables {
		var rows [][]byte
		for _, one := range w.waiting {
			if len(one[n]) > 0 {
				rows = append(rows, one[n])
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := tables.CopyIn(ctx, w.tx, tables.All[n], true, rows...); err != nil {
			return store.AsRefused(err)
		}
	}
	clear(w.waiting)
	w.waiting, w.size = w.waiting[:0], 0
	return nil
}

// writeAll gives everything that fold passes to its argument to all writers.
func writeAll(ctx context.Context, writers []*writer, fold func(context.Context, func(context.Context, [][]byte) error) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range writers {
		group.Go(func() error { return w.run(ctx) })
	}
	group.Go(func() error {
		defer func() {
			for _, w := range writers {
				close(w.folded)
			}
		}()
		return fold(ctx, func(ctx context.Context, one [][]byte) error {
			for _, w := range writers {
				select {
				case w.folded <- one:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		})
	})
	return group.Wait()
}

// giveUp rolls all transactions back.
func giveUp(writers []*writer) {
	ctx, cancel := context.WithTimeout(context.Background(), store.CleanUpTimeout)
	defer cancel()
	for _, w := range slices.Backward(writers) {
		_ = w.tx.Rollback(ctx)
	}
}
