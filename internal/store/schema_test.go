package store_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestASchemaDroppedByHandCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	next, err := s.OpenSchema(ctx, "portal_next")
	require.NoError(t, err)
	defer next.Close()
	require.NoError(t, next.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	_, err = s.Pool().Exec(ctx, "drop schema portal_next cascade")
	require.NoError(t, err)
	list, err := s.Schemas(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, store.LiveSchema, list[0].Name)
	require.NoError(t, s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.SchemasIn(ctx, tx)
		return err
	}))
	require.ErrorIs(t, next.Drop(ctx), store.ErrNoSchema)
	require.NoError(t, next.Prepare(ctx, "log-2", fixture.Partitions, fixture.AnyMode), "made anew")
	again, err := s.SchemaNamed(ctx, "portal_next")
	require.NoError(t, err)
	require.Equal(t, "log-2", again.LogID)
}

// A dump of schema portal alone, or one without it, cannot be told from tables of a stranger. Nothing is made beside it.
func TestAPartOfADatabaseIsNamed(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"payfold cascade", "payfold, wallet cascade", "payfold, portal cascade"} {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			_, err := s.Pool().Exec(ctx, "drop schema "+missing)
			require.NoError(t, err)
			for range 2 {
				err = s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode)
				require.ErrorIs(t, err, store.ErrPartOfADatabase)
			}
			if !strings.Contains(missing, "portal") {
				err = s.View(ctx, func(context.Context, pgx.Tx) error { return nil })
				require.ErrorIs(t, err, store.ErrPartOfADatabase)
			}
			for _, name := range strings.Split(strings.TrimSuffix(missing, " cascade"), ", ") {
				_, err = s.Pool().Exec(ctx, "create schema "+name)
				require.NoError(t, err, "nothing was made")
			}
		})
	}
	t.Run("the rest is empty", func(t *testing.T) {
		t.Parallel()
		ctx, s := fixture.Tables(t)
		_, err := s.Pool().Exec(ctx, "delete from payfold.schema_state")
		require.NoError(t, err)
		require.ErrorIs(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode), store.ErrPartOfADatabase)
	})
}

func TestADatabaseThatRefusesTextsOfSomeScriptsGetsNoTables(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	for encoding, accepted := range map[string]bool{"EUC_KR": false, "LATIN1": false, "SQL_ASCII": true} {
		name := s.Pool().Config().ConnConfig.Database + "_" + strings.ToLower(encoding)
		_, err := s.Pool().Exec(ctx, "create database "+name+" encoding '"+encoding+"' locale 'C' template template0")
		require.NoError(t, err)
		t.Cleanup(func() {
			_, err := s.Pool().Exec(ctx, "drop database "+name+" with (force)")
			require.NoError(t, err)
		})
		other, err := store.Open(ctx, store.Config{DSN: s.Pool().Config().ConnString() + " dbname=" + name, Owner: "test", LeaseTime: time.Minute, ConnectTimeout: wait.Timeout})
		require.NoError(t, err)
		defer other.Close()
		err = other.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode)
		if accepted {
			require.NoError(t, err, encoding)
		} else {
			require.ErrorContains(t, err, "the encoding UTF8", encoding)
		}
	}
}

// The session is idle while another connection migrates, which may take longer than a lease.
func TestTheSessionThatPreparesMayBeIdleForFiveMinutes(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	var within, usual string
	require.NoError(t, s.MigrateThen(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "show idle_in_transaction_session_timeout").Scan(&within)
	}))
	require.NoError(t, s.Pool().QueryRow(ctx, "show idle_in_transaction_session_timeout").Scan(&usual))
	require.Equal(t, []string{"5min", "48s"}, []string{within, usual})
}

// A session that asks for a table queues behind a migration that waits for a long reader, such as pg_dump.
func TestAMigrationThatWaitsForAReaderHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	done, err := os.ReadDir("migrations")
	require.NoError(t, err)
	later := fmt.Sprintf("%03d_later.sql", len(done)+1)
	steps := fstest.MapFS{later: {Data: []byte("alter table payfold.invitation_attempt add column later int")}}
	for _, one := range done {
		steps[one.Name()] = &fstest.MapFile{Data: []byte("select 1")}
	}
	reader, batch := fixture.Connect(ctx, t, s), fixture.Connect(ctx, t, s, "lock_timeout", "5s")
	_, err = reader.Exec(ctx, "begin; select count(*) from payfold.invitation_attempt")
	require.NoError(t, err)
	waiting := func() bool {
		return fixture.Number(ctx, t, s, "select count(*) from pg_locks where not granted and relation = 'payfold.invitation_attempt'::regclass") == 1
	}
	migrated := make(chan error, 1)
	limited, cancel := context.WithCancel(ctx)
	go func() { migrated <- s.MigrateSchema(limited, steps) }()
	wait.Until(t, waiting)
	wait.Until(t, func() bool { return !waiting() })
	wait.Until(t, waiting) // again: it knows how the first try ended
	cancel()
	err = <-migrated
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "lock timeout", "docs/runbook.md says what to do")
	go func() { migrated <- s.MigrateSchema(ctx, steps) }()
	wait.Until(t, waiting)
	_, err = batch.Exec(ctx, "select count(*) from payfold.invitation_attempt")
	require.NoError(t, err)
	_, err = reader.Exec(ctx, "commit")
	require.NoError(t, err)
	require.NoError(t, <-migrated)
	require.EqualValues(t, len(done)+1, fixture.Number(ctx, t, s, "select version from payfold.schema_version"))
}

// docs/reference.md has a section for every table, and in it every column.
func TestTheReferenceNamesEveryColumn(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	for _, table := range tables.All {
		if about := table.About(); about.Extra {
			_, err := s.Pool().Exec(ctx, about.DDL())
			require.NoError(t, err)
		}
	}
	text, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	_, tables, found := strings.Cut(string(text), "\n## The tables\n")
	require.True(t, found)
	rows, err := s.Pool().Query(ctx, `select table_name::text, array_agg(column_name::text) from information_schema.columns
		where table_schema = 'portal' group by table_name`)
	require.NoError(t, err)
	var table string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		if table == "credit_balance" { // a view, in the section of credits
			require.Contains(t, tables, "`credit_balance` (`user_id`, `balance`)")
			return nil
		}
		name := table
		view, hasView := map[string]string{"payment_facts": "payment", "subscription_facts": "subscription_state", "license_facts": "pro_license", "subscription_access": "subscription_state"}[table]
		if hasView { // its section has the columns that people read
			name = view
		}
		_, section, found := strings.Cut(tables, "\n### `"+name+"`")
		require.True(t, found, table)
		section, _, _ = strings.Cut(section, "\n### ")
		if hasView {
			_, workings, found := strings.Cut(tables, "\n### For the rules")
			require.True(t, found)
			_, item, found := strings.Cut(workings, "\n- `"+table+"`: ")
			require.True(t, found, table)
			item, _, _ = strings.Cut(item, "\n- ")
			section += item
		}
		for _, column := range columns {
			require.Contains(t, section, "`"+column+"`", table)
		}
		return nil
	})
	require.NoError(t, err)
}

func TestTheLockOnASchemaOutlivesTheTimeoutOfIdleSessions(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "do $$ begin execute format('alter database %I set idle_session_timeout = 8000', current_database()); end $$")
	require.NoError(t, err)
	one, err := s.OpenSchema(ctx, "portal_next")
	require.NoError(t, err)
	defer one.Close()
	unlock, err := one.LockSchema(ctx)
	require.NoError(t, err)
	unlock = sync.OnceFunc(unlock)
	defer unlock()
	two, err := s.OpenSchema(ctx, "portal_next")
	require.NoError(t, err)
	defer two.Close()
	both, err := two.LockSchema(ctx)
	if err == nil {
		both()
	}
	require.ErrorContains(t, err, "another command works on schema portal_next")
	unlock()
	both, err = two.LockSchema(ctx)
	require.NoError(t, err)
	both()
}

func TestTheTimeoutsOfTheDatabaseAreNotThoseOfASession(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	limitSessions(t, s)
	next, err := s.OpenSchema(ctx, "portal_next")
	require.NoError(t, err)
	defer next.Close()
	requireNoLimit(t, next.Pool())
}

// Migrations reset the settings of their session.
func TestTheTimeoutsOfTheDatabaseAreNotThoseOfASessionThatHasMigrated(t *testing.T) {
	t.Parallel()
	ctx, config := t.Context(), store.Config{DSN: testenv.Database(t)}
	admin, err := store.Open(ctx, config)
	require.NoError(t, err)
	defer admin.Close()
	limitSessions(t, admin)
	s, err := store.Open(ctx, config)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Migrate(ctx))
	for _, session := range s.Pool().AcquireAllIdle(ctx) {
		defer session.Release()
		requireNoLimit(t, session)
	}
}

// limitSessions gives the database all timeouts. Among them is transaction_timeout since PostgreSQL 17, which would end
// a long verify.
func limitSessions(t *testing.T, s *store.Store) {
	t.Helper()
	_, err := s.Pool().Exec(t.Context(), `do $$ declare timeout text; begin
		for timeout in select name from pg_settings where name ~ '^(statement|lock|transaction|idle_.*session)_timeout$' loop
			execute format('alter database %I set %I = 4321', current_database(), timeout);
		end loop;
	end $$`)
	require.NoError(t, err)
}

func requireNoLimit(t *testing.T, session store.Querier) {
	t.Helper()
	var inForce []string
	require.NoError(t, session.QueryRow(t.Context(), "select array(select name from pg_settings where setting = '4321')").Scan(&inForce))
	require.Empty(t, inForce)
}
