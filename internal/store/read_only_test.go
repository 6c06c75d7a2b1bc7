package store_test

import (
	"crypto/rand"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestOnlyARoleThatReadsIsReadOnly(t *testing.T) {
	ctx, superuser := fixture.Tables(t)
	require.ErrorContains(t, superuser.CheckReadOnly(ctx), "is a superuser")

	projector, portal := fixture.AsProjector(ctx, t)
	require.ErrorContains(t, projector.CheckReadOnly(ctx), "may create schemas")

	candidate, err := projector.OpenSchema(ctx, "portal_june")
	require.NoError(t, err)
	defer candidate.Close()
	require.NoError(t, candidate.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	earlier, err := projector.OpenSchema(ctx, "portal_may") // made before there was a console
	require.NoError(t, err)
	defer earlier.Close()
	require.NoError(t, earlier.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	_, err = earlier.Pool().Exec(ctx, "revoke all on schema portal_may from payfold_console; revoke all on all tables in schema portal_may from payfold_console", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	fixture.MakeRoles(ctx, t, strings.Replace(portal, "user=payfold_portal password=x", "", 1))
	for _, schema := range []string{store.LiveSchema, "portal_june", "portal_may"} {
		console, err := store.Open(ctx, store.Config{DSN: strings.Replace(portal, "payfold_portal", "payfold_console", 1), Schema: schema})
		require.NoError(t, err)
		defer console.Close()
		require.NoError(t, console.CheckReadOnly(ctx))
		_, err = console.SchemaNamed(ctx, schema)
		require.NoError(t, err)
		require.EqualValues(t, 0, fixture.Number(ctx, t, console, "select count(*) from payment"))
		require.EqualValues(t, 0, fixture.Number(ctx, t, console, `select wallet.balance('u') + (select count(*) from wallet.grants('u'))
			+ (select count(*) from wallet.spend join wallet.spend_part using (key))`))
		_, err = console.Pool().Exec(ctx, "set transaction read write; insert into credits values ('u', 1, 1, 0, 1)")
		require.ErrorContains(t, err, "permission denied")
	}
}

func TestARoleThatMayWriteByADetourIsNotReadOnly(t *testing.T) {
	ctx, superuser := fixture.Tables(t)
	for does, sql := range map[string]string{
		"may call function wallet.spend":         "grant usage on schema wallet to reader; grant execute on function wallet.spend to reader",
		"may change table wallet.spend":          "grant update (note) on wallet.spend to reader",
		"owns schema wallet":                     "alter schema wallet owner to reader; revoke all on schema wallet from reader",
		"may change table portal.credits":        "grant update (balance) on credits to reader",
		"may change table portal.newest":         "create view newest as select * from credits; grant update on newest to reader",
		"may change table portal.payment":        "grant trigger on payment to reader",
		"may change table other.processed_event": "create schema other; create table other.processed_event (); grant insert on other.processed_event to reader",
		"owns table portal.reversal":             "alter table reversal owner to reader; revoke all on reversal from reader",
		"may act as superuser":                   "alter role reader noinherit; grant boss to reader",
		"may act as pg_write_server_files":       "alter role reader noinherit; grant pg_write_server_files to reader",
		"may act as pg_execute_server_program":   "alter role reader noinherit; grant pg_execute_server_program to reader",
		"may create tables in schema portal":     "grant create on schema portal to reader",
		"may make roles":                         "alter role reader createrole",
		"owns schema portal":                     "alter schema portal owner to reader; revoke all on schema portal from reader",
		"may change table portal.checkpoint": `do $$ begin execute
			case when current_setting('server_version_num')::int < 170000 then 'grant truncate' else 'grant maintain' end || ' on checkpoint to reader'; end $$`,
	} {
		t.Run(does, func(t *testing.T) {
			suffix := strings.ToLower(rand.Text())
			named := strings.NewReplacer("reader", "reader_"+suffix, "boss", "boss_"+suffix).Replace
			_, err := superuser.Pool().Exec(ctx, named("create role boss superuser; create role reader login password 'x'"), pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			reader, err := store.Open(ctx, store.Config{DSN: superuser.Pool().Config().ConnString() + named(" user=reader password=x")})
			require.NoError(t, err)
			defer reader.Close()
			require.NoError(t, reader.CheckReadOnly(ctx))
			_, err = superuser.Pool().Exec(ctx, named(sql), pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			require.ErrorContains(t, reader.CheckReadOnly(ctx), does)
		})
	}
}

func TestARoleThatIsGivenMoreRightsLaterIsNoticed(t *testing.T) {
	ctx, superuser := fixture.Tables(t)
	role := "reader_" + strings.ToLower(rand.Text())
	_, err := superuser.Pool().Exec(ctx, "create role "+role+" login password 'x'", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	reader, err := store.Open(ctx, store.Config{DSN: superuser.Pool().Config().ConnString() + " user=" + role + " password=x"})
	require.NoError(t, err)
	defer reader.Close()
	found := make(chan error, 1)
	go func() { found <- reader.StayReadOnly(ctx, time.Millisecond) }()
	require.NoError(t, reader.CheckReadOnly(ctx))
	_, err = superuser.Pool().Exec(ctx, "grant insert on credits to "+role, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	err = <-found
	require.ErrorIs(t, err, store.ErrNotReadOnly)
	require.ErrorContains(t, err, "portal.credits")
}

func TestRightsAreLookedAtAgainWhenASessionSaysNothing(t *testing.T) {
	t.Parallel()
	ctx, superuser := fixture.Tables(t)
	s, err := store.Open(ctx, store.Config{DSN: superuser.Pool().Config().ConnString()})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	var session int
	require.NoError(t, s.Pool().QueryRow(ctx, "select pg_backend_pid()").Scan(&session))
	require.NoError(t, syscall.Kill(session, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(session, syscall.SIGCONT) })
	require.ErrorIs(t, s.StayReadOnly(ctx, time.Millisecond), store.ErrNotReadOnly)
}
