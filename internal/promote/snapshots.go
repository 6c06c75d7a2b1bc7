package promote

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/store"
)

// snapshotTimeout is how long a promotion waits, at most, for readers whose snapshot is older
// than the candidate's rows.
const snapshotTimeout = 5 * time.Second

//go:embed snapshots.sql
var oldSnapshots string

// waitForSnapshots waits for the transactions whose snapshot is older than the candidate's
// rows: after the renaming they would read empty tables. ownPID is the process id of the
// promotion's own session, which reads no more. The queries run outside the promotion's
// transaction, because within a transaction Postgres shows the sessions as they were at the
// first query. Readers that look at store.ReadersAreToEnd end early.
func waitForSnapshots(ctx context.Context, s *store.Store, ownPID uint32) error {
	var marker string
	var since time.Time
	err := s.Pool().QueryRow(ctx, "select pg_current_xact_id()::xid::text, clock_timestamp()").Scan(&marker, &since)
	if err != nil {
		return fmt.Errorf("mark the candidate's last row: %w", err)
	}
	return pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		if err := store.AskReadersToEnd(ctx, tx); err != nil {
			return err
		}
		return waitForReaders(ctx, s, marker, since, ownPID)
	})
}

func waitForReaders(ctx context.Context, s *store.Store, marker string, since time.Time, ownPID uint32) error {
	retry := backoff.Every(store.LockRetryInterval)
	for waited := time.Duration(0); ; waited += store.LockRetryInterval {
		readers, err := store.Collect(ctx, s.Pool(), "look for old snapshots", pgx.RowTo[string],
			oldSnapshots, marker, since, int64(store.PromoteLock), int64(ownPID))
		if err != nil {
			return err
		}
		if len(readers) == 0 {
			return nil
		}
		if waited >= snapshotTimeout {
			return fmt.Errorf("%w: open transactions would see empty tables; end them first: %s", ErrNotPromoted, strings.Join(readers, ", "))
		}
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
}
