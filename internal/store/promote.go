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

//go:embed outside_dependents.sql
var outsideDependents string

//go:embed copy_grants.sql
var copyGrants string

// promoteLock is shared by every batch on the live tables and held alone by a
// promotion: a transaction open across the renaming would write half into each
// schema. Readers never touch it.
const promoteLock = 0x7061_7966_6f6c_6403

// ErrNotPromoted says why a promotion was refused; nothing was changed.
var ErrNotPromoted = errors.New("not promoted")

// snapshotWait bounds the waiting for readers whose snapshot is older than the
// candidate's rows; batches wait meanwhile.
const snapshotWait = 5 * time.Second

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

// Promote makes the store's schema the live one and keeps the one before as
// PreviousSchema. While no batch can commit it calls CatchUp; then one
// transaction renames both. Readers see the one or the other, whole.
// ErrNotPromoted where it must not be; then nothing has changed.
func (s *Store) Promote(ctx context.Context, p Promotion) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(promoteLock)); err != nil {
			return fmt.Errorf("wait for the batches under way: %w", err)
		}
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
		var head int64
		if err := tx.QueryRow(ctx, "select max(position) from "+in(LiveSchema, "checkpoint")).Scan(&head); err != nil {
			return fmt.Errorf("read the live checkpoints: %w", err)
		}
		if err := p.CatchUp(ctx, uint64(head)); err != nil {
			return err
		}
		steps := []func(context.Context, pgx.Tx) error{
			func(ctx context.Context, tx pgx.Tx) error { return s.checkBeginning(ctx, tx, p.First) },
			s.checkPositions, s.checkDependents, s.waitForSnapshots, s.copyGrants, s.swap,
		}
		if p.AcceptLogLoss {
			steps = steps[2:]
		}
		for _, step := range steps {
			if err := step(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
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

// checkDependents: views and foreign keys of others would follow the old tables.
func (s *Store) checkDependents(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, outsideDependents, LiveSchema)
	if err != nil {
		return fmt.Errorf("look for dependent objects: %w", err)
	}
	dependents, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for dependent objects: %w", err)
	}
	if len(dependents) > 0 {
		return fmt.Errorf("%w: objects outside depend on the live tables and would stay with the old ones: %s",
			ErrNotPromoted, strings.Join(dependents, ", "))
	}
	return nil
}

// waitForSnapshots waits until no transaction is left that could not see the
// candidate's rows, and so would read empty tables after the renaming.
func (s *Store) waitForSnapshots(ctx context.Context, tx pgx.Tx) error {
	var marker uint32
	if err := s.pool.QueryRow(ctx, "select (pg_current_xact_id()::text::numeric % 4294967296)::bigint").Scan(&marker); err != nil {
		return fmt.Errorf("mark the candidate's last row: %w", err)
	}
	ticker := time.NewTicker(lockTry)
	defer ticker.Stop()
	for waited := time.Duration(0); ; waited += lockTry {
		rows, err := tx.Query(ctx, `select format('pid %s (%s) since %s', pid, application_name, xact_start)
			from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
			  and backend_xmin is not null and age(backend_xmin) >= age($1::text::xid)`, fmt.Sprint(marker))
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

// copyGrants gives the candidate's tables the grants of the live ones.
func (s *Store) copyGrants(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, copyGrants, LiveSchema, s.schema)
	if err != nil {
		return fmt.Errorf("read the grants: %w", err)
	}
	grants, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("read the grants: %w", err)
	}
	for _, grant := range grants {
		if _, err := tx.Exec(ctx, grant); err != nil {
			return fmt.Errorf("carry a grant over (%s): %w", grant, err)
		}
	}
	return nil
}

// asideSchema exists within the promoting transaction only.
const asideSchema = "portal_aside"

// swap renames the live schema to the previous one and the candidate to the live one.
func (s *Store) swap(ctx context.Context, tx pgx.Tx) error {
	if s.schema != PreviousSchema {
		if err := dropSchema(ctx, tx, PreviousSchema); err != nil {
			return err
		}
	}
	for _, step := range [][2]string{{LiveSchema, asideSchema}, {s.schema, LiveSchema}, {asideSchema, PreviousSchema}} {
		if _, err := tx.Exec(ctx, "alter schema "+quoted(step[0])+" rename to "+quoted(step[1])); err != nil {
			return fmt.Errorf("rename schema %s: %w", step[0], err)
		}
		if _, err := tx.Exec(ctx, "update payfold.schema_state set schema_name = $2 where schema_name = $1", step[0], step[1]); err != nil {
			return fmt.Errorf("rename schema %s: %w", step[0], err)
		}
	}
	return nil
}
