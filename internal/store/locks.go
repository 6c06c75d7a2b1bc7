package store

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/backoff"
)

// The keys of all advisory locks. commandLock, indexLock, InvitationLock and LeaderLock are
// the first of two keys; the second is the hash of a name.
const (
	schemaLock = 0x7061_7966_6f6c_6401 // one transaction prepares schemas

	// PromoteLock is shared by all batches on the live tables, and exclusive to a promotion, to settle and to adopt-log
	// (see HoldBatches). A batch that was open during the renaming would write half of its rows into each schema. Readers
	// of the tables do not take the lock.
	PromoteLock = 0x7061_7966_6f6c_6403

	// PingLock is held by the session of the process that pings.
	PingLock = 0x7061_7966_6f6c_6404

	// readersLock is shared by the promotions that wait for readers; see AskReadersToEnd.
	readersLock = 0x7061_7966_6f6c_6405

	commandLock = 0x7061_7966 // one command at a time works on a schema
	indexLock   = 0x7061_7967 // one command at a time creates the indexes of a schema

	// InvitationLock lets one transaction at a time change the invitations to a repository.
	InvitationLock = 0x7061_7968
	// LeaderLock is held by the session of the process that invites to a repository.
	LeaderLock = 0x7061_7969
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

// AskReadersToEnd asks those who read the tables for long, and look at ReadersAreToEnd, to end soon, until the transaction
// ends.
func AskReadersToEnd(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock_shared($1)", int64(readersLock)); err != nil {
		return fmt.Errorf("ask readers to end: %w", err)
	}
	return nil
}

// ReadersAreToEnd reports whether a promotion waits for readers now.
func (s *Store) ReadersAreToEnd(ctx context.Context) (asked bool, err error) {
	const sql = `select exists (
		select from pg_locks where locktype = 'advisory' and objsubid = 1
			and database = (select oid from pg_database where datname = current_database())
			and classid::bigint = $1::bigint >> 32 and objid::bigint = $1::bigint & 4294967295)`
	if err := s.pool.QueryRow(ctx, sql, int64(readersLock)).Scan(&asked); err != nil {
		return false, fmt.Errorf("look for promotions: %w", err)
	}
	return asked, nil
}

// WaitForPromotion queues statements that wait until no transaction holds the batches. From then on
// no transaction can hold the batches until the transaction of this batch ends. The wait has no
// timeout, because a transaction that holds the batches has one.
func WaitForPromotion(batch *pgx.Batch) {
	batch.Queue("set local lock_timeout = 0")
	batch.Queue("select pg_advisory_xact_lock_shared($1)", int64(PromoteLock))
	batch.Queue("set local lock_timeout to default")
}

//go:embed blocking.sql
var blockingSQL string

// blockingInterval is longer than most waits for a lock or a standby.
const blockingInterval = 3 * time.Second

// LogBlocking logs what this process waits for, until stop: the sessions of other programs that hold a lock, and a
// synchronous standby that confirms no commit.
func (s *Store) LogBlocking(ctx context.Context, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		pause := backoff.Every(blockingInterval)
		for logged := ""; pause.Wait(ctx) == nil; {
			blocking, err := Collect(ctx, s.pool, "look for what this process waits for", pgx.RowTo[string], blockingSQL, ApplicationName+s.Owner(), blockingInterval)
			if now := strings.Join(blocking, "; "); err == nil && now != "" && now != logged {
				logger.WarnContext(ctx, "the database makes this command wait", "for", now)
				logged = now
			}
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}
