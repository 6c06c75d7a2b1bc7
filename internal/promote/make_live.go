package promote

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// terms says what to promote a schema with.
type terms struct {
	FoldID string // that of the command; the schema must have it
	// CatchUp must apply every message up to that sequence to the store's schema.
	CatchUp func(ctx context.Context, head uint64) error
	// First message of the log: a schema folded from it lacks what was before.
	First uint64
	// AcceptLogLoss allows a schema of another log, or of one that is shorter
	// than what the live tables hold.
	AcceptLogLoss bool
}

// makeLive makes the store's schema the live one and keeps the one before as
// PreviousSchema, which replaces an older one. While no batch can commit it
// calls CatchUp; then one transaction renames both. Readers see the one or the
// other, whole. ErrNotPromoted where it must not be; then nothing has changed. Where
// the connection breaks at the commit, it asks on another one whether that took effect.
func makeLive(ctx context.Context, s *store.Store, p terms) error {
	// Long readers are waited for before anybody has to wait for them.
	if err := check(ctx, s, p); err != nil {
		return err
	}
	if err := waitForSnapshots(ctx, s, 0); err != nil {
		return err
	}
	tables, err := s.FindTables(ctx, s.Pool())
	if err != nil {
		return err
	}
	committing := false
	err = pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		if err := store.HoldBatches(ctx, tx); err != nil {
			return err
		}
		if err := check(ctx, s, p); err != nil {
			return err
		}
		if err := catchUp(ctx, s, tx, p.CatchUp); err != nil {
			return err
		}
		// A chunk that is open across the renaming would write half into each schema.
		if _, err := tx.Exec(ctx, "lock table "+store.Qualified(s.Schema(), "checkpoint")+" in exclusive mode"); err != nil {
			return fmt.Errorf("wait for who else works on schema %s: %w", s.Schema(), err)
		}
		if !p.AcceptLogLoss {
			if err := checkBeginning(ctx, s, tx, p.First); err != nil {
				return err
			}
			if err := checkPositions(ctx, s, tx); err != nil {
				return err
			}
		}
		if err := waitForSnapshots(ctx, s, tx.Conn().PgConn().PID()); err != nil {
			return err
		}
		if err := copyRights(ctx, s, tx); err != nil {
			return err
		}
		if err := swap(ctx, s, tx); err != nil {
			return err
		}
		committing = true
		return nil
	})
	if err != nil && committing {
		return becameLive(ctx, s, tables, err)
	}
	if store.TimedOut(err) {
		return fmt.Errorf("%w: %w", ErrNotPromoted, err)
	}
	return err
}

// catchUp brings the candidate up to every live position; nobody moves those now.
func catchUp(ctx context.Context, s *store.Store, tx pgx.Tx, to func(context.Context, uint64) error) error {
	var head int64
	if err := tx.QueryRow(ctx, "select max(position) from "+store.Qualified(store.LiveSchema, "checkpoint")).Scan(&head); err != nil {
		return fmt.Errorf("read the live checkpoints: %w", err)
	}
	slow := fmt.Errorf("%w: the last events were not folded within %s", ErrNotPromoted, store.CatchUpWait)
	ctx, cancel := context.WithTimeoutCause(ctx, store.CatchUpWait, slow)
	defer cancel()
	err := to(ctx, uint64(head))
	if err != nil && errors.Is(context.Cause(ctx), slow) {
		return slow
	}
	return err
}
