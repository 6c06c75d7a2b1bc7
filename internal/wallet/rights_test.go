package wallet_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/sqlstate"
	"github.com/payfold/payfold/internal/testenv/docs"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// The portal's role spends by the functions only. It can neither write the tables nor have a function use objects of its
// own.
func TestTheRoleOfThePortalSpendsByFunctionsOnly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	s, dsn := fixture.AsProjector(ctx, t)
	fixture.Apply(ctx, t, s, 9)
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	w := wallet{ctx, conn}
	require.True(t, w.spend(t, "u1", 2, "k1"))
	require.True(t, w.hold(t, "u1", 3, "h1"))
	require.True(t, ask[bool](t, w, "select wallet.confirm('h1', 2)"))
	require.True(t, w.hold(t, "u1", 3, "h2"))
	require.True(t, ask[bool](t, w, "select wallet.release('h2')"))
	require.EqualValues(t, 1, ask[int64](t, w, "select wallet.give_back('k1', 1)"))
	w.requireSums(t, "u1")
	require.EqualValues(t, 6, w.balance(t, "u1"))
	require.Zero(t, ask[int64](t, w, "select count(*) from wallet.without_grant()"))

	const denied = "42501" // insufficient_privilege
	for _, sql := range []string{
		"insert into wallet.account values ('u1', 1)", "update wallet.spend set amount = 1 returning 1",
		"delete from wallet.spend_part returning 1", "truncate wallet.account cascade", "drop schema wallet cascade",
		"create table wallet.mine (id int)", "create temporary table spend (id int)",
		"create or replace function wallet.balance(user_id text) returns bigint language sql as 'select 1::bigint'",
		"select wallet.begin_change('u1')", "select wallet.take('u1', 1, 'k1', 'spend')",
		"select wallet.return_parts('k1', 1, 'give_back', now())", "select wallet.begin_spend('u1', 1, 'k9', null, null)",
	} {
		_, err := conn.Exec(ctx, sql)
		require.Equal(t, denied, sqlstate.Of(err), "%s: %v", sql, err)
	}
	require.EqualValues(t, 6, w.balance(t, "u1"))

	// A function that runs with its owner's rights must find nothing by a path that its caller chooses.
	require.Empty(t, ask[[]string](t, w, `select coalesce(array_agg(proname::text), '{}') from pg_proc
		where pronamespace = 'wallet'::regnamespace and prosecdef
			and not coalesce(proconfig, '{}') @> array['search_path=pg_catalog, pg_temp']`))
}

// An app has no more rights than those that docs/app.md names: the role, and a schema of its own.
func TestTheRoleOfThePortalExecutesTheSQLOfItsDocument(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	s, dsn := fixture.AsProjector(ctx, t)
	fixture.Apply(ctx, t, s, 9)
	admin, err := pgx.Connect(ctx, strings.TrimSuffix(dsn, " user=payfold_portal password=x"))
	require.NoError(t, err)
	defer admin.Close(ctx)
	repository, err := docs.Open("../..")
	require.NoError(t, err)
	_, err = admin.Exec(ctx, "create schema shop authorization payfold_portal")
	require.NoError(t, err)
	app, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer app.Close(ctx)
	blocks := 0
	for where, statements := range repository.Blocks("sql") {
		if strings.Contains(where, "docs/app.md:") {
			_, err := app.Exec(ctx, statements)
			require.NoError(t, err, where)
			blocks++
		}
	}
	require.Greater(t, blocks, 8)
}
