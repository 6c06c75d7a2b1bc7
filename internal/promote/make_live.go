package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// terms are the conditions of a promotion.
type terms struct {
	FoldID string // of the command; the schema must have the same
	// CatchUp must apply every message up to head to the candidate.
	CatchUp func(ctx context.Context, head uint64) error
	// First is the first message of the log. The candidate lacks all earlier messages.
	First uint64
	// AcceptLogLoss allows a candidate of another log, or of a log that ends before the
	// live tables.
	AcceptLogLoss bool
	// Within is how long batches may wait for the promotion, without its commit.
	Within time.Duration
}

// makeLive makes the store's schema the live one. The former live schema becomes
// store.PreviousSchema and replaces an older one. While no batch can commit, it calls CatchUp.
// Then one transaction renames both, so readers always see whole tables. The error
// ErrNotPromoted means that nothing has changed. If the connection breaks at the commit,
// makeLive asks on another connection whether the commit took effect.
func makeLive(ctx context.Context, s *store.Store, p terms) error {
	// Wait for long readers before batches have to wait.
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
	slow := fmt.Errorf("%w: live work would have waited longer than %s", ErrNotPromoted, p.Within)
	err = pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		holding, cancel := context.WithTimeoutCause(ctx, p.Within, slow)
		defer cancel()
		err := exchange(holding, s, tx, p)
		if err != nil && errors.Is(context.Cause(holding), slow) {
			return fmt.Errorf("%w: %w", slow, err)
		}
		committing = err == nil
		return err
	})
	if err != nil && committing {
		return becameLive(ctx, s, tables, err)
	}
	if store.TimedOut(err) {
		return fmt.Errorf("%w: %w", ErrNotPromoted, err)
	}
	return err
}

// exchange does everything for which batches wait, except the commit.
func exchange(ctx context.Context, s *store.Store, tx pgx.Tx, p terms) error {
	if err := store.HoldBatches(ctx, tx); err != nil {
		return err
	}
	if err := check(ctx, s, p); err != nil {
		return err
	}
	if err := catchUp(ctx, tx, p.CatchUp); err != nil {
		return err
	}
	if err := checkQuarantined(ctx, s, tx, foldedBefore); err != nil {
		return err
	}
	// A rebuild whose transaction is open meanwhile would write into both schemas.
	if _, err := tx.Exec(ctx, "lock table "+store.Qualified(s.Schema(), "checkpoint")+" in exclusive mode"); err != nil {
		return fmt.Errorf("wait for other work on schema %s: %w", s.Schema(), err)
	}
	if !p.AcceptLogLoss {
		if err := checkBeginning(ctx, s, tx, p.First); err != nil {
			return err
		}
		if err := checkPositions(ctx, s, tx); err != nil {
			return err
		}
		if err := checkApplied(ctx, s, tx); err != nil {
			return err
		}
	}
	if err := waitForSnapshots(ctx, s, tx.Conn().PgConn().PID()); err != nil {
		return err
	}
	if err := copyRights(ctx, s, tx); err != nil {
		return err
	}
	return swap(ctx, s, tx)
}

// catchUp brings the candidate up to the live positions, which no batch moves now.
func catchUp(ctx context.Context, tx pgx.Tx, to func(context.Context, uint64) error) error {
	var head int64
	if err := tx.QueryRow(ctx, "select max(position) from "+store.Qualified(store.LiveSchema, "checkpoint")).Scan(&head); err != nil {
		return fmt.Errorf("read the live checkpoints: %w", err)
	}
	slow := fmt.Errorf("%w: the last events were not folded within %s", ErrNotPromoted, store.CatchUpTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, store.CatchUpTimeout, slow)
	defer cancel()
	err := to(ctx, uint64(head))
	if err != nil && errors.Is(context.Cause(ctx), slow) {
		return slow
	}
	return err
}
