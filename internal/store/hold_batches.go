package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// These timeouts bound a transaction for which live batches wait. If the process freezes,
// Postgres ends its session, and so its lock, after twice the CatchUpTimeout.
const (
	// HoldTimeout bounds the whole transaction except its commit. A batch waits longer
	// (live.applyTimeout).
	HoldTimeout = 25 * time.Second

	// lockWaitTimeout bounds each wait for a lock: of batches under way, and of readers of tables
	// that are dropped. One statement may wait for several.
	lockWaitTimeout = 5 * time.Second

	// CatchUpTimeout bounds the fold of the last events.
	CatchUpTimeout = 10 * time.Second
)

// HoldBatches makes all batches on the live tables wait until the transaction ends, within
// HoldTimeout. It waits for the batches under way; see TimedOut.
func HoldBatches(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "select set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)",
		Milliseconds(lockWaitTimeout), Milliseconds(2*CatchUpTimeout))
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(PromoteLock)); err != nil {
		return fmt.Errorf("wait for the batches under way: %w", err)
	}
	return nil
}

// WaitForPromotion queues statements that wait until no transaction holds the batches. From then on
// no transaction can hold the batches until the transaction of this batch ends. The wait has no
// timeout, because a transaction that holds the batches has one.
func WaitForPromotion(batch *pgx.Batch) {
	batch.Queue("set local lock_timeout = 0")
	batch.Queue("select pg_advisory_xact_lock_shared($1)", int64(PromoteLock))
	batch.Queue("set local lock_timeout to default")
}
