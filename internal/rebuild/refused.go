package rebuild

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// find sets the sequence of the refused event: the first one whose rows the database refuses after those of the events
// before it. If it finds none, the sequence stays 0.
func (r *refusedRows) find(ctx context.Context, on *target, w *worker) error {
	tx, err := on.connections[0].Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.CleanUpTimeout)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	if _, err := tx.Exec(ctx, "truncate "+tables.Names()); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	for _, records := range r.records {
		var failed error
		first := sort.Search(len(records), func(n int) bool {
			refused, err := isRefused(ctx, tx, w, records[:n+1])
			failed = errors.Join(failed, err)
			return refused
		})
		if failed != nil {
			return failed
		}
		if first < len(records) {
			r.Seq = sequence(records[first])
			return r.isTheEvent(ctx, tx, w, records[:first+1])
		}
	}
	return nil
}

// isTheEvent returns an error if the database, and not the last of these events, is the cause of a refusal. The database
// must take the rejection of the event, and then refuse the event's own rows again: somebody may have repaired a database
// that refused everything.
func (r *refusedRows) isTheEvent(ctx context.Context, tx pgx.Tx, w *worker, records []string) error {
	w.quarantined[r.Seq] = true
	refused, err := isRefused(ctx, tx, w, records)
	delete(w.quarantined, r.Seq)
	if err != nil {
		return err
	}
	if refused {
		return store.NotTheEvent(r.Seq, r.Cause)
	}
	if refused, err = isRefused(ctx, tx, w, records); err != nil || refused {
		return err
	}
	return fmt.Errorf("the database refused the event at seq %d and takes it now; try again: %w", r.Seq, r.Cause)
}

// isRefused reports whether the database refuses the rows of these events. It writes none.
func isRefused(ctx context.Context, tx pgx.Tx, w *worker, records []string) (bool, error) {
	rows, err := w.fold(records)
	if err != nil {
		return false, err
	}
	save, err := tx.Begin(ctx)
	if err != nil {
		return false, err
	}
	for n, table := range tables.All {
		if len(rows[n]) > 0 && err == nil {
			err = store.AsRefused(tables.CopyIn(ctx, save, table, false, rows[n]))
		}
	}
	if failed := save.Rollback(ctx); failed != nil {
		return false, failed
	}
	if errors.As(err, new(*store.RefusedError)) {
		return true, nil
	}
	return false, err
}
