package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/tables"
)

// MakeIndexes creates the missing indexes and keys that the tables of a schema have at a stage, in
// parallel on all of the connections. After an error the indexes that were created remain, and the call can be
// repeated.
func MakeIndexes(ctx context.Context, schema string, stage tables.Stage, on ...*pgxpool.Conn) error {
	if create, keys, err := missingIndexes(ctx, on[0], schema, stage); err != nil || len(create)+len(keys) == 0 {
		return err
	}
	unlock, err := lockIndexes(ctx, schema, on[0])
	if err != nil {
		return err
	}
	defer unlock()
	create, keys, err := missingIndexes(ctx, on[0], schema, stage)
	if err != nil {
		return err
	}
	next := make(chan string, len(create))
	for _, sql := range create {
		next <- sql
	}
	close(next)
	making, makingCtx := errgroup.WithContext(ctx)
	for _, connection := range on {
		making.Go(func() error {
			for sql := range next {
				if err := execWithRetry(makingCtx, connection, sql); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := making.Wait(); err != nil {
		return err
	}
	for _, sql := range keys { // each locks its whole table
		if err := execWithRetry(ctx, on[0], sql); err != nil {
			return err
		}
	}
	return nil
}

// indexSettings gives enough memory to sort a million rows without files. A rebuild makes two
// indexes at once, one on each of its connections. So Postgres uses no workers of its own: on two
// cores they would compete.
const indexSettings = "set local maintenance_work_mem = '256MB'; set local max_parallel_maintenance_workers = 0; " + shortLockTimeout

// shortLockTimeout is for transactions that lock whole tables; see retryLocks. A session that waits for such a lock
// keeps a snapshot, and "create index concurrently" of an operator waits for that snapshot. Other sessions queue behind
// it. So every wait is shorter than the time after which Postgres looks for deadlocks (1 s).
const shortLockTimeout = "set local lock_timeout = '300ms'"

// retryLocks calls try again while other sessions hold the locks. If ctx ends meanwhile, the error names the lock, too.
func retryLocks(ctx context.Context, try func() error) error {
	retry := backoff.Every(LockRetryInterval)
	var locked error
	for {
		err := try()
		switch {
		case TimedOut(err):
			locked = err
		case err == nil || locked == nil || ctx.Err() == nil:
			return err
		}
		if ended := retry.Wait(ctx); ended != nil {
			return fmt.Errorf("%w: %w", ended, locked)
		}
	}
}

// beginner is a connection or a pool.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// execWithRetry runs a statement that locks tables.
func execWithRetry(ctx context.Context, on beginner, sql string) error {
	return retryLocks(ctx, func() error {
		err := pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, indexSettings); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, sql)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		return nil
	})
}

// EnsureIndexes is MakeIndexes within the transaction.
func EnsureIndexes(ctx context.Context, tx pgx.Tx, schema string, stage tables.Stage) error {
	create, keys, err := missingIndexes(ctx, tx, schema, stage)
	if err != nil {
		return err
	}
	for _, sql := range append(create, keys...) {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// lockIndexes waits until no other session creates indexes of the schema. That may be the
// session of another command, or one that a killed command has left behind.
func lockIndexes(ctx context.Context, schema string, connection *pgxpool.Conn) (unlock func(), err error) {
	if _, err := connection.Exec(ctx, "select pg_advisory_lock($1, hashtext($2))", indexLock, schema); err != nil {
		return nil, fmt.Errorf("wait for others that make indexes: %w", err)
	}
	unlock = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CleanUpTimeout)
		defer cancel()
		_, _ = connection.Exec(ctx, "select pg_advisory_unlock($1, hashtext($2))", indexLock, schema)
	}
	if err := execWithRetry(ctx, connection, "lock table "+tables.Names()+" in share row exclusive mode"); err != nil {
		unlock()
		return nil, fmt.Errorf("wait for others that make indexes: %w", err)
	}
	return unlock, nil
}

// missingIndexes lists the statements that create the missing indexes, and those that make keys of indexes. Those that
// take longest come first: indexes of all rows before partial ones, and the largest tables before others.
func missingIndexes(ctx context.Context, q Querier, schema string, stage tables.Stage) (create, keys []string, err error) {
	all := tables.Indexes
	var names, on []string
	var ofSome []bool
	for _, i := range all {
		names, on, ofSome = append(names, Qualified(schema, i.Name)), append(on, Qualified(schema, i.Table)), append(ofSome, i.OfSome)
	}
	var longest []int
	var made, isKey []bool
	err = q.QueryRow(ctx, `select array_agg(nr - 1 order by of_some, coalesce(pg_relation_size(to_regclass(on_table)), 0) desc, nr),
		array_agg(to_regclass(name) is not null order by nr),
		array_agg(exists (select from pg_constraint where conindid = to_regclass(name)) order by nr)
		from unnest($1::text[], $2::text[], $3::bool[]) with ordinality as n (name, on_table, of_some, nr)`, names, on, ofSome).Scan(&longest, &made, &isKey)
	if err != nil {
		return nil, nil, fmt.Errorf("look for the indexes of schema %s: %w", schema, err)
	}
	for _, n := range longest {
		i := all[n]
		if i.Since > stage {
			continue
		}
		if !made[n] {
			create = append(create, i.Create)
		}
		if i.Key != "" && !isKey[n] {
			keys = append(keys, i.Key)
		}
	}
	return create, keys, nil
}

// Analyze updates the statistics of the tables, so that queries have good plans at once. It skips a table on which
// autovacuum works, because autovacuum updates them, too.
func (s *Store) Analyze(ctx context.Context) error {
	return execWithRetry(ctx, s.pool, "analyze (skip_locked) "+tables.Names())
}

// StopAutovacuum keeps autovacuum away from tables on search_path while a rebuild fills them.
// While autovacuum works on a table, no index can be made, and on a large table it takes minutes.
func StopAutovacuum(ctx context.Context, tx pgx.Tx, names ...string) error {
	for _, name := range names {
		if _, err := tx.Exec(ctx, "alter table "+name+" set (autovacuum_enabled = false)"); err != nil {
			return fmt.Errorf("stop autovacuum: %w", err)
		}
	}
	return nil
}

// StartAutovacuum undoes StopAutovacuum for the tables of a schema. The schema must be the
// search_path.
func StartAutovacuum(ctx context.Context, schema string, on *pgxpool.Conn) error {
	without, err := WithoutAutovacuum(ctx, on, schema)
	if err != nil {
		return err
	}
	for _, name := range without {
		if err := execWithRetry(ctx, on, "alter table "+name+" reset (autovacuum_enabled)"); err != nil {
			return err
		}
	}
	return nil
}

// WithoutAutovacuum lists the tables of a schema for which StopAutovacuum was called and not StartAutovacuum: a
// rebuild has not made all of their indexes yet.
func WithoutAutovacuum(ctx context.Context, q Querier, schema string) ([]string, error) {
	return Collect(ctx, q, "look for tables without autovacuum", pgx.RowTo[string], `select relname from pg_class
		where relnamespace = to_regnamespace($1) and relname = any($2) and 'autovacuum_enabled=false' = any(reloptions)`,
		Quoted(schema), tables.NameList())
}
