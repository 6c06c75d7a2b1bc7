package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// index is an index of a derived table, maybe that of a key.
type index struct {
	name   string
	create string // the statement
	key    string // the statement that makes it a key; may be empty
	live   bool   // only live work looks for rows by it: explain, noting disorder, and invitations
}

// indexes lists them all, those that take longest to make first. Tables that a
// rebuild fills have none of them to begin with: to make one at once is quicker than
// to keep it up.
var indexes = []index{
	primary("processed_event", "event_id"),
	onlyLive(plain("processed_event", "payment", "(provider_payment_id, stream_seq) where provider_payment_id is not null")),
	onlyLive(plain("processed_event", "user", "(user_id, stream_seq) where user_id is not null")),
	primary("credit_ledger", "event_id, line"),
	onlyLive(plain("processed_event", "subscription", "(subscription_id, stream_seq) where subscription_id is not null")),
	primary("payment", "provider_payment_id"),
	key("payment", "transaction_id_key", "unique", "transaction_id"),
	plain("credit_ledger", "user", "(user_id, provider_payment_id)"),
	onlyLive(unique("processed_event", "stream_seq", "(stream_seq)")),
	unique("payment", "first_of_order", "(order_id) where first_of_order"),
	plain("payment", "unclaimed", "(subscription_id) where user_id is null"),
	plain("payment", "subscription", "(subscription_id) where subscription_id is not null"),
	plain("payment", "pro", "(user_id) where kind = 'pro'"),
	onlyLive(plain("payment", "github_user", "(lower(github_username)) where github_username is not null")),
	primary("subscription_state", "subscription_id"),
	plain("subscription_state", "user", "(user_id) where user_id is not null"),
	primary("subscription", "user_id"),
	primary("credits", "user_id"),
	primary("reversal", "event_id"),
	plain("reversal", "payment", "(provider_payment_id)"),
	primary("pro_license", "user_id"),
	primary("duplicate_event", "stream_seq"),
}

func primary(table, columns string) index { return key(table, "pkey", "primary key", columns) }

func key(table, suffix, kind, columns string) index {
	i := unique(table, suffix, "("+columns+")")
	i.key = fmt.Sprintf("alter table %s add constraint %s %s using index %[2]s", table, i.name, kind)
	return i
}

func unique(table, suffix, on string) index { return indexOf("unique index", table, suffix, on) }

func plain(table, suffix, on string) index { return indexOf("index", table, suffix, on) }

func indexOf(kind, table, suffix, on string) index {
	name := table + "_" + suffix
	return index{name: name, create: fmt.Sprintf("create %s %s on %s %s", kind, name, table, on)}
}

func onlyLive(i index) index {
	i.live = true
	return i
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
	if err := whenFree(ctx, connection, "lock table "+strings.Join(tables(), ", ")+" in share row exclusive mode"); err != nil {
		unlock()
		return nil, fmt.Errorf("wait for others that make indexes: %w", err)
	}
	return unlock, nil
}

// missingIndexes lists the statements that make them, and those that make them keys.
func missingIndexes(ctx context.Context, q querier, schema string, live bool) (create, keys []string, err error) {
	var names []string
	for _, i := range indexes {
		names = append(names, in(schema, i.name))
	}
	var made, isKey []bool
	err = q.QueryRow(ctx, `select array_agg(to_regclass(name) is not null order by nr),
		array_agg(exists (select from pg_constraint where conindid = to_regclass(name)) order by nr)
		from unnest($1::text[]) with ordinality as n (name, nr)`, names).Scan(&made, &isKey)
	if err != nil {
		return nil, nil, fmt.Errorf("look for the indexes of schema %s: %w", schema, err)
	}
	for n, i := range indexes {
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
