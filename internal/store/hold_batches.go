package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// How long a transaction waits, at most, that batches wait for. Together it is less than a
// batch waits (live.applyTimeout), and one that freezes loses its session, and so its
// lock, not much later.
const (
	batchWait = 5 * time.Second // for the batches under way, and for readers of what it drops

	// CatchUpWait is for the last events to be folded.
	CatchUpWait = 10 * time.Second
)

// HoldBatches keeps batches from the live tables until the transaction ends.
func HoldBatches(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "select set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)",
		Milliseconds(batchWait), Milliseconds(2*CatchUpWait))
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(PromoteLock)); err != nil {
		return fmt.Errorf("wait for the batches under way: %w", err)
	}
	return nil
}

// WaitForPromotion queues what makes a batch wait until nobody holds batches. That is
// bounded by itself, and to wait for it is no fault.
func WaitForPromotion(batch *pgx.Batch) {
	batch.Queue("set local lock_timeout = 0")
	batch.Queue("select pg_advisory_xact_lock_shared($1)", int64(PromoteLock))
	batch.Queue("set local lock_timeout to default")
}
