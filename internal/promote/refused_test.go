package promote

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// A rebuild under the name of a schema that payfold did not make would delete its tables.
func TestASchemaThatIsNotPayfoldsIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "create schema reports; create table reports.precious (x int); create schema free")
	require.NoError(t, err)
	reports, err := s.OpenSchema(ctx, "reports")
	require.NoError(t, err)
	defer reports.Close()
	require.ErrorContains(t, reports.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode), "not payfold's")
	require.ErrorIs(t, reports.Drop(ctx), store.ErrNoSchema)
	free, err := s.OpenSchema(ctx, "free")
	require.NoError(t, err)
	defer free.Close()
	require.NoError(t, free.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	require.NoError(t, free.Drop(ctx))
	require.Zero(t, fixture.Number(ctx, t, s, "select count(*) from reports.precious"))
}

func TestPromoteIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	for reason, sql := range map[string]string{
		"as of seq 3":                     "update payfold.schema_state set until_seq = 3 where schema_name = 'portal_next'",
		`folded under "other"`:            "update payfold.schema_state set fold_id = 'other' where schema_name = 'portal_next'",
		"log log-2":                       "update payfold.schema_state set log_id = 'log-2' where schema_name = 'portal_next'",
		"2 partitions of portal_next are": "update portal.checkpoint set position = 9 where partition > 1",
		"1 partitions of portal_next are": "delete from portal_next.checkpoint where partition = 1",
		"view reports.totals":             "create view reports.totals as select sum(balance) from portal.credits",
		"view reports.spendable":          "create view reports.spendable as select * from portal.credit_balance",
		`view public."inner", view repo`:  "create view public.inner as select * from portal.payment; create view reports.of_view as select * from public.inner; create view portal_next.x as select 1; create table portal.x (y int); create view reports.z as select * from portal.x",
		"materialized view reports.kept":  "create materialized view reports.kept as select user_id from portal.credits",
		"constraint theirs on table":      "create table reports.spent (payer text constraint theirs references portal.credits)",
		"function reports.sum()":          "create function reports.sum() returns bigint begin atomic select sum(balance)::bigint from portal.credits; end",
		"function reports.of_row(":        "create function reports.of_row(portal.credits) returns bigint language sql as 'select 1::bigint'",
		"table reports.rows":              "create table reports.rows (row portal.credits)",
		"table reports.ruled":             "create table reports.ruled (x int); create rule r as on insert to reports.ruled do also delete from portal.reversal",
		"trigger theirs on table":         "create function reports.f() returns trigger language plpgsql as 'begin return new; end'; create trigger theirs after insert on portal.credits for each row execute function reports.f()",
		"policy theirs on table":          "create policy theirs on portal.credits using (true)",
		"publication theirs":              "create publication theirs for table portal.credits",
		"publication of_schema": `do $$ begin execute 'create publication of_schema for ' ||
			case when current_setting('server_version_num')::int < 150000 then 'table portal.credits' else 'tables in schema portal' end; end $$`,
		"table portal.notes":       "create table portal.notes (note text)",
		"function portal.inside()": "create function portal.inside() returns int language sql as 'select 1'",
		"type portal.theirs":       "create type portal.theirs as enum ('a')",
		"is not payfold's":         "create schema portal_prev; create table portal_prev.precious (x int)",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			fixture.Apply(ctx, t, s, 4)
			next := fixture.Candidate(ctx, t, s, 4)
			_, err := s.Pool().Exec(ctx, "create schema reports; "+sql)
			require.NoError(t, err)
			var oid uint32
			require.NoError(t, s.Pool().QueryRow(ctx, "select 'portal'::regnamespace::oid").Scan(&oid))
			err = makeLive(ctx, next, terms{FoldID: fixture.AnyMode.FoldID(), Within: store.HoldTimeout, CatchUp: func(context.Context, uint64) error { return nil }})
			require.ErrorIs(t, err, ErrNotPromoted)
			require.ErrorContains(t, err, reason)
			require.EqualValues(t, oid, fixture.Number(ctx, t, s, "select 'portal'::regnamespace::oid::bigint"))
		})
	}
}

// A view of somebody's on the tables that were live before is not dropped with them.
func TestPromoteDropsNothingOfOthers(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	next := fixture.Candidate(ctx, t, s, 0)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	_, err := s.Pool().Exec(ctx, "create view public.theirs as select * from portal_prev.credits")
	require.NoError(t, err)
	again := fixture.Candidate(ctx, t, s, 0)
	require.ErrorContains(t, makeLive(ctx, again, promotion(t, again)), "view public.theirs")
	previous, err := s.OpenSchema(ctx, store.PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	require.ErrorContains(t, previous.Drop(ctx), "view public.theirs")
	require.ErrorIs(t, s.Drop(ctx), store.ErrLive)
}

func TestATableUnderTheNameOfADroppedSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 5)
	next := fixture.Candidate(ctx, t, s, 5)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	_, err := s.Pool().Exec(ctx, "drop schema portal_prev cascade; create schema portal_prev; create table portal_prev.payment as select * from portal.payment")
	require.NoError(t, err)
	again := fixture.Candidate(ctx, t, s, 5)
	require.ErrorContains(t, makeLive(ctx, again, promotion(t, again)), "schema portal_prev is there and is not payfold's")
}

// A rebuild of that schema that goes on would write one half of its rows into each schema.
func TestASchemaThatIsWorkedOnIsNotPromoted(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 5)
	next := fixture.Candidate(ctx, t, s, 5)
	working, err := next.Pool().Begin(ctx)
	require.NoError(t, err)
	positions, err := store.PositionsIn(ctx, working)
	require.NoError(t, err)
	require.NoError(t, store.LockPositions(ctx, working, "log-1", positions))
	p := promotion(t, next)
	p.CatchUp = func(context.Context, uint64) error { return nil }
	require.ErrorIs(t, makeLive(ctx, next, p), ErrNotPromoted)
	require.NoError(t, working.Commit(ctx))
}

func TestHostileNamesAreNoSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "portal", "portal_prev", "portal_aside", "portal_verify", "payfold", "wallet", "wallet_aside",
		"public", "information_schema", "pg_temp", "pg_x", "Portal_next", "a b",
		`x"; drop schema portal cascade; --`, "x'y", "x.y", "é", "1x", "x\x00", fmt.Sprintf("%0*d", 61, 0), "x\n",
	} {
		require.Error(t, store.CheckName(name), "%q", name)
	}
	for _, name := range []string{"select", "user", "table", "_", "portal_next", "as_of_2026", "x1"} {
		require.NoError(t, store.CheckName(name), name)
	}
	ctx, s := fixture.Tables(t)
	for _, name := range []string{"select", "user", `x"; drop schema portal cascade; --`} {
		odd, err := s.OpenSchema(ctx, name)
		require.NoError(t, err)
		defer odd.Close()
		require.ErrorIs(t, odd.Drop(ctx), store.ErrNoSchema)
		require.NoError(t, odd.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
		fold := rebuild.Rebuild{Log: fixture.TapeOf(fixture.Pack("e1", "p1", "u1", 1)), Store: odd, Rules: fixture.AnyMode, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}}
		require.NoError(t, fold.Run(ctx, 1))
		require.NoError(t, makeLive(ctx, odd, promotion(t, odd)))
		require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select balance from portal.credits"))
		_, err = s.Pool().Exec(ctx, "delete from payfold.schema_state where schema_name = 'portal_prev'; drop schema portal_prev cascade")
		require.NoError(t, err)
	}
}
