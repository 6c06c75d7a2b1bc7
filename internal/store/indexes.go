package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/tables"
)

// MakeIndexes makes what is missing, on all of the connections at once; with live those
// that only live work needs, too. What was made stays when it fails.
func MakeIndexes(ctx context.Context, schema string, live bool, on ...*pgxpool.Conn) error {
	if create, keys, err := missingIndexes(ctx, on[0], schema, live); err != nil || len(create)+len(keys) == 0 {
		return err
	}
	unlock, err := lockIndexes(ctx, schema, on[0])
	if err != nil {
		return err
	}
	defer unlock()
	create, keys, err := missingIndexes(ctx, on[0], schema, live)
	if err != nil {
		return err
	}
	next := make(chan string, len(create))
	for _, sql := range create {
		next <- sql
	}
	close(next)
	making, makes := errgroup.WithContext(ctx)
	for _, connection := range on {
		making.Go(func() error {
			for sql := range next {
				if err := WhenFree(makes, connection, sql); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := making.Wait(); err != nil {
		return err
	}
	for _, sql := range keys { // these exclude each other
		if err := WhenFree(ctx, on[0], sql); err != nil {
			return err
		}
	}
	return nil
}

// forIndexes: memory for a million rows to be sorted without files. There are as many
// connections as cores, so Postgres' own workers would be in the way. Of locks see whenFree.
const forIndexes = `set local maintenance_work_mem = '256MB'; set local max_parallel_maintenance_workers = 0;
	set local lock_timeout = '300ms'`

// WhenFree runs a statement that locks tables, and tries again as long as somebody else
// has them. Whoever waits for a lock keeps a snapshot, for which an index that an operator
// makes concurrently waits in its turn; so no wait is as long as Postgres takes to look
// for deadlocks (1 s).
func WhenFree(ctx context.Context, on interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}, sql string,
) error {
	for {
		err := pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, forIndexes); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, sql)
			return err
		})
		switch {
		case err == nil:
			return nil
		case !TimedOut(err):
			return fmt.Errorf("%s: %w", sql, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(LockTry):
		}
	}
}

// EnsureIndexes makes what is missing within the transaction.
func EnsureIndexes(ctx context.Context, tx pgx.Tx, schema string, live bool) error {
	create, keys, err := missingIndexes(ctx, tx, schema, live)
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

// lockIndexes waits until nobody else makes indexes of the schema: neither another
// command, nor a session that a killed one has left behind on one of its tables.
func lockIndexes(ctx context.Context, schema string, connection *pgxpool.Conn) (unlock func(), err error) {
	if _, err := connection.Exec(ctx, "select pg_advisory_lock($1, hashtext($2))", indexLock, schema); err != nil {
		return nil, fmt.Errorf("wait for others that make indexes: %w", err)
	}
	unlock = func() {
		_, _ = connection.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1, hashtext($2))", indexLock, schema)
	}
	if err := WhenFree(ctx, connection, "lock table "+tables.Names()+" in share row exclusive mode"); err != nil {
		unlock()
		return nil, fmt.Errorf("wait for others that make indexes: %w", err)
	}
	return unlock, nil
}

// missingIndexes lists the statements that make them, those of the largest tables
// first, and those that make them keys.
func missingIndexes(ctx context.Context, q Querier, schema string, live bool) (create, keys []string, err error) {
	all := tables.Indexes
	var names, tables []string
	for _, i := range all {
		names, tables = append(names, Qualified(schema, i.Name)), append(tables, Qualified(schema, i.Table))
	}
	var largest []int
	var made, isKey []bool
	err = q.QueryRow(ctx, `select array_agg(nr - 1 order by coalesce(pg_relation_size(to_regclass(on_table)), 0) desc, nr),
		array_agg(to_regclass(name) is not null order by nr),
		array_agg(exists (select from pg_constraint where conindid = to_regclass(name)) order by nr)
		from unnest($1::text[], $2::text[]) with ordinality as n (name, on_table, nr)`, names, tables).Scan(&largest, &made, &isKey)
	if err != nil {
		return nil, nil, fmt.Errorf("look for the indexes of schema %s: %w", schema, err)
	}
	for _, n := range largest {
		i := all[n]
		if i.LiveOnly && !live {
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

// Analyze tells Postgres how the tables are filled, so that those who read them have
// good plans at once.
func (s *Store) Analyze(ctx context.Context) error {
	return WhenFree(ctx, s.pool, "analyze "+tables.Names())
}
