package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNotPromoted says why a promotion was refused; nothing was changed.
var ErrNotPromoted = errors.New("not promoted")

// What a promotion waits for, at most, while batches wait for it. Together it is
// less than a batch waits (projector.applyTimeout), and a promotion that freezes
// loses its session, and so its lock, not much later.
const (
	batchWait    = 5 * time.Second  // for the batches under way, and for readers of the schema to be dropped
	catchUpWait  = 10 * time.Second // for the last events to be folded
	snapshotWait = 5 * time.Second  // for readers whose snapshot is older than the candidate's rows
)

// Promotion says what to promote a schema with.
type Promotion struct {
	FoldID string // that of the command; the schema must have it
	// CatchUp must apply every message up to that sequence to the store's schema.
	CatchUp func(ctx context.Context, head uint64) error
	// First message of the log: a schema folded from it lacks what was before.
	First uint64
	// AcceptLogLoss allows a schema of another log, or of one that is shorter
	// than what the live tables hold.
	AcceptLogLoss bool
}

// CheckPromotion says what stands in the way already now: ErrNotPromoted.
func (s *Store) CheckPromotion(ctx context.Context, p Promotion) error {
	candidate, err := s.SchemaNamed(ctx, s.schema)
	if err != nil {
		return err
	}
	live, err := s.SchemaNamed(ctx, LiveSchema)
	if err != nil {
		return err
	}
	if err := p.check(candidate, live); err != nil {
		return err
	}
	return s.checkObjects(ctx, s.pool)
}

// Analyze tells Postgres how the tables are filled, so that those who read them have
// good plans at once.
func (s *Store) Analyze(ctx context.Context) error {
	return whenFree(ctx, s.pool, "analyze "+tableNames())
}

// Promote makes the store's schema the live one and keeps the one before as
// PreviousSchema, which replaces an older one. While no batch can commit it
// calls CatchUp; then one transaction renames both. Readers see the one or the
// other, whole. ErrNotPromoted where it must not be; then nothing has changed. Where
// the connection breaks at the commit, it asks on another one whether that took effect.
func (s *Store) Promote(ctx context.Context, p Promotion) error {
	// Long readers are waited for before anybody has to wait for them.
	if err := s.CheckPromotion(ctx, p); err != nil {
		return err
	}
	if err := s.waitForSnapshots(ctx, 0); err != nil {
		return err
	}
	tables, err := s.tables(ctx, s.pool)
	if err != nil {
		return err
	}
	committing := false
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := bound(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(promoteLock)); err != nil {
			return fmt.Errorf("wait for the batches under way: %w", err)
		}
		if err := s.CheckPromotion(ctx, p); err != nil {
			return err
		}
		if err := s.catchUp(ctx, tx, p.CatchUp); err != nil {
			return err
		}
		// A chunk that is open across the renaming would write half into each schema.
		if _, err := tx.Exec(ctx, "lock table "+in(s.schema, "checkpoint")+" in exclusive mode"); err != nil {
			return fmt.Errorf("wait for who else works on schema %s: %w", s.schema, err)
		}
		if !p.AcceptLogLoss {
			if err := s.checkBeginning(ctx, tx, p.First); err != nil {
				return err
			}
			if err := s.checkPositions(ctx, tx); err != nil {
				return err
			}
		}
		if err := s.waitForSnapshots(ctx, tx.Conn().PgConn().PID()); err != nil {
			return err
		}
		if err := s.copyRights(ctx, tx); err != nil {
			return err
		}
		if err := s.swap(ctx, tx); err != nil {
			return err
		}
		committing = true
		return nil
	})
	if err != nil && committing {
		return s.becameLive(ctx, tables, err)
	}
	if timedOut(err) {
		return fmt.Errorf("%w: %w", ErrNotPromoted, err)
	}
	return err
}

// bound keeps a promotion that waits or freezes from holding others up.
func bound(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "select set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)",
		milliseconds(batchWait), milliseconds(2*catchUpWait))
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

func (p Promotion) check(candidate, live Schema) error {
	switch {
	case candidate.Name == LiveSchema:
		return fmt.Errorf("%w: %w already", ErrNotPromoted, ErrLive)
	case candidate.UntilSeq != nil:
		return fmt.Errorf("%w: %s holds the tables as of seq %d", ErrNotPromoted, candidate.Name, *candidate.UntilSeq)
	case candidate.FoldID != p.FoldID:
		return fmt.Errorf("%w: %s was folded under %q, this command has %q; run the build, catalogue and mode it was made with",
			ErrNotPromoted, candidate.Name, candidate.FoldID, p.FoldID)
	case candidate.LogID != live.LogID && !p.AcceptLogLoss:
		return fmt.Errorf("%w: %s was folded from log %s, the live tables from %s; --accept-log-loss gives up what only that one had",
			ErrNotPromoted, candidate.Name, candidate.LogID, live.LogID)
	}
	return nil
}

// checkBeginning: a candidate folded from a log that was adopted lacks the past.
func (s *Store) checkBeginning(ctx context.Context, tx pgx.Tx, first uint64) error {
	var lacking bool
	err := tx.QueryRow(ctx, fmt.Sprintf(`select exists (select from %s where stream_seq < $1) and not exists (select from %s where stream_seq < $1)`,
		in(LiveSchema, "processed_event"), in(s.schema, "processed_event")), int64(first)).Scan(&lacking)
	if err != nil {
		return fmt.Errorf("compare the beginnings: %w", err)
	}
	if lacking {
		return fmt.Errorf("%w: the log begins at seq %d and the live tables hold what was before; --accept-log-loss gives that up", ErrNotPromoted, first)
	}
	return nil
}

// catchUp brings the candidate up to every live position; nobody moves those now.
func (s *Store) catchUp(ctx context.Context, tx pgx.Tx, to func(context.Context, uint64) error) error {
	var head int64
	if err := tx.QueryRow(ctx, "select max(position) from "+in(LiveSchema, "checkpoint")).Scan(&head); err != nil {
		return fmt.Errorf("read the live checkpoints: %w", err)
	}
	slow := fmt.Errorf("%w: the last events were not folded within %s", ErrNotPromoted, catchUpWait)
	ctx, cancel := context.WithTimeoutCause(ctx, catchUpWait, slow)
	defer cancel()
	err := to(ctx, uint64(head))
	if err != nil && errors.Is(context.Cause(ctx), slow) {
		return slow
	}
	return err
}

// checkPositions: a promotion never goes back in time.
func (s *Store) checkPositions(ctx context.Context, tx pgx.Tx) error {
	var behind int
	err := tx.QueryRow(ctx, fmt.Sprintf(`select count(*) from %s live left join %s candidate using (partition)
		where candidate.position is null or candidate.position < live.position`,
		in(LiveSchema, "checkpoint"), in(s.schema, "checkpoint"))).Scan(&behind)
	if err != nil {
		return fmt.Errorf("compare the checkpoints: %w", err)
	}
	if behind > 0 {
		return fmt.Errorf("%w: %d partitions of %s are behind the live tables", ErrNotPromoted, behind, s.schema)
	}
	return nil
}

//go:embed snapshots.sql
var oldSnapshots string

// waitForSnapshots waits until no transaction is left that could not see the
// candidate's rows, and so would read empty tables after the renaming; but is the
// promotion's own session, which reads no more. It asks outside the promotion's
// transaction: within one, Postgres goes on to show the sessions as they were at
// the first look.
func (s *Store) waitForSnapshots(ctx context.Context, but uint32) error {
	var marker int64
	var since time.Time
	err := s.pool.QueryRow(ctx, "select (pg_current_xact_id()::text::numeric % 4294967296)::bigint, clock_timestamp()").Scan(&marker, &since)
	if err != nil {
		return fmt.Errorf("mark the candidate's last row: %w", err)
	}
	ticker := time.NewTicker(lockTry)
	defer ticker.Stop()
	for waited := time.Duration(0); ; waited += lockTry {
		rows, err := s.pool.Query(ctx, oldSnapshots, fmt.Sprint(marker), since, int64(promoteLock), int64(but))
		if err != nil {
			return fmt.Errorf("look for old snapshots: %w", err)
		}
		readers, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("look for old snapshots: %w", err)
		}
		if len(readers) == 0 {
			return nil
		}
		if waited >= snapshotWait {
			return fmt.Errorf("%w: open transactions would see empty tables; end them first: %s", ErrNotPromoted, strings.Join(readers, ", "))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
