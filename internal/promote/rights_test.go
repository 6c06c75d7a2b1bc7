package promote

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// rightsOf lists who may do what with a schema's tables and columns.
func rightsOf(ctx context.Context, t *testing.T, s *store.Store, schema string) []string {
	t.Helper()
	rows, err := s.Pool().Query(ctx, `
		select format('schema %s %s', pg_get_userbyid(nspowner), (select string_agg(a::text, ' ' order by a::text) from unnest(coalesce(nspacl, acldefault('n', nspowner))) a)) from pg_namespace where nspname = $1
		union all
		select format('%s %s%s %s', relname, pg_get_userbyid(relowner), case when relrowsecurity then ', row security' end, (select string_agg(a::text, ' ' order by a::text) from unnest(coalesce(relacl, acldefault('r', relowner))) a))
		from pg_class where relnamespace = $1::text::regnamespace and relkind in ('r', 'v')
		union all
		select format('%s.%s %s', relname, attname, (select string_agg(a::text, ' ' order by a::text) from unnest(attacl) a))
		from pg_class join pg_attribute on attrelid = pg_class.oid
		where relnamespace = $1::text::regnamespace and attacl is not null and attacl::text <> '{}'
		union all
		select format('default %s %s', pg_get_userbyid(defaclrole), defaclacl) from pg_default_acl where defaclnamespace = $1::text::regnamespace
		order by 1`, schema)
	require.NoError(t, err)
	rights, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return rights
}

func TestTheRightsAreThoseOfTheLiveTables(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	role := func(name string) string {
		var database string
		require.NoError(t, s.Pool().QueryRow(ctx, "select current_database()").Scan(&database))
		full := fmt.Sprintf("%s of %q", name, database)
		t.Cleanup(func() {
			_, err := s.Pool().Exec(context.Background(), "drop owned by "+store.Quoted(full)+" cascade; drop role "+store.Quoted(full))
			require.NoError(t, err)
		})
		_, err := s.Pool().Exec(ctx, "create role "+store.Quoted(full))
		require.NoError(t, err)
		return store.Quoted(full)
	}
	owner, analyst, portal, console := role("owner"), role("analyst"), role("portal"), role("console")
	for _, sql := range []string{
		"grant create on schema portal to " + owner,
		"alter schema portal owner to " + owner,
		"alter table portal.credits owner to " + owner,
		"alter table portal.credits enable row level security",
		"grant usage on schema portal to public",
		"grant usage, create on schema portal to " + analyst + " with grant option",
		"grant select on portal.credits, portal.credit_balance to " + portal,
		"grant select, references on portal.payment to " + analyst + " with grant option",
		"grant select (user_id, status), update (status) on portal.subscription to " + portal,
		"grant select on portal.reversal to public",
		"alter default privileges for role " + owner + " in schema portal grant select on tables to " + portal,
		"grant select on all tables in schema portal to " + console,
		"alter default privileges for role " + owner + " grant select on tables to " + console,
	} {
		_, err := s.Pool().Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	want := rightsOf(ctx, t, s, store.LiveSchema)
	next := fixture.Candidate(ctx, t, s, 0)
	_, err := s.Pool().Exec(ctx, "grant all on all tables in schema portal_next to "+analyst+"; grant usage on schema portal_next to "+portal)
	require.NoError(t, err)
	_, err = s.Pool().Exec(ctx, "create table portal_next.of_a_new_build (x int)")
	require.NoError(t, err)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	have := rightsOf(ctx, t, s, store.LiveSchema)
	added := slices.IndexFunc(have, func(line string) bool { return len(line) > 14 && line[:14] == "of_a_new_build" })
	require.Contains(t, have[added], "portal of", "a new table has the default privileges of the schema")
	require.Contains(t, have[added], "console of", "and those of the owner in every schema")
	normal := func(lines []string) (out []string) {
		for _, line := range lines {
			if line != have[added] {
				out = append(out, line)
			}
		}
		return out
	}
	require.Equal(t, want, normal(have))
}
