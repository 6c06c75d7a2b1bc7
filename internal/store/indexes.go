package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// index is an index of a derived table, maybe that of a key. Tables that a rebuild
// fills have none of them to begin with: to make one at once is quicker than to keep it
// up.
type index struct {
	name, table string
	create      string // the statement
	key         string // the statement that makes it a key; may be empty
	live        bool   // only live work looks for rows by it: explain, noting disorder, and invitations
}

// indexOn declares an index of a table.
type indexOn func(table string) index

func indexes() (all []index) {
	for _, t := range derived {
		for _, on := range t.about().indexes {
			all = append(all, on(t.about().name))
		}
	}
	return all
}

func primary(columns string) indexOn { return key("pkey", "primary key", columns) }

func key(suffix, kind, columns string) indexOn {
	return func(table string) index {
		i := unique(suffix, "("+columns+")")(table)
		i.key = fmt.Sprintf("alter table %s add constraint %s %s using index %[2]s", table, i.name, kind)
		return i
	}
}

func unique(suffix, on string) indexOn { return indexOf("unique index", suffix, on) }

func plain(suffix, on string) indexOn { return indexOf("index", suffix, on) }

func indexOf(kind, suffix, on string) indexOn {
	return func(table string) index {
		name := table + "_" + suffix
		return index{name: name, table: table, create: fmt.Sprintf("create %s %s on %s %s", kind, name, table, on)}
	}
}

func onlyLive(on indexOn) indexOn {
	return func(table string) index {
		i := on(table)
		i.live = true
		return i
	}
}

// makeIndexes makes what is missing, on all of the connections at once; with live those
// that only live work needs, too. What was made stays when it fails.
func makeIndexes(ctx context.Context, schema string, live bool, on ...*pgxpool.Conn) error {
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
				if err := whenFree(makes, connection, sql); err != nil {
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
		if err := whenFree(ctx, on[0], sql); err != nil {
			return err
		}
	}
	return nil
}

// forIndexes: memory for a million rows to be sorted without files. There are as many
// connections as cores, so Postgres' own workers would be in the way. Of locks see whenFree.
const forIndexes = `set local maintenance_work_mem = '256MB'; set local max_parallel_maintenance_workers = 0;
	set local lock_timeout = '300ms'`

// whenFree runs a statement that locks tables, and tries again as long as somebody else
// has them. Whoever waits for a lock keeps a snapshot, for which an index that an operator
// makes concurrently waits in its turn; so no wait is as long as Postgres takes to look
// for deadlocks (1 s).
func whenFree(ctx context.Context, on interface {
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
		case !timedOut(err):
			return fmt.Errorf("%s: %w", sql, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockTry):
		}
	}
}

// ensureIndexes makes what is missing within the transaction.
func (s *Store) ensureIndexes(ctx context.Context, tx pgx.Tx, live bool) error {
	create, keys, err := missingIndexes(ctx, tx, s.schema, live)
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
	if err := whenFree(ctx, connection, "lock table "+tableNames()+" in share row exclusive mode"); err != nil {
		unlock()
		return nil, fmt.Errorf("wait for others that make indexes: %w", err)
	}
	return unlock, nil
}

// missingIndexes lists the statements that make them, those of the largest tables
// first, and those that make them keys.
func missingIndexes(ctx context.Context, q querier, schema string, live bool) (create, keys []string, err error) {
	all := indexes()
	var names, tables []string
	for _, i := range all {
		names, tables = append(names, in(schema, i.name)), append(tables, in(schema, i.table))
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
		if i.live && !live {
			continue
		}
		if !made[n] {
			create = append(create, i.create)
		}
		if i.key != "" && !isKey[n] {
			keys = append(keys, i.key)
		}
	}
	return create, keys, nil
}
