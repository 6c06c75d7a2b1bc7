package rebuild_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/world"
)

// A publication for all tables is there before the first start. Postgres refuses updates and deletes of a table in it
// that has no replica identity, and a rebuild fills tables before they have keys.
func TestEveryTableHasAReplicaIdentityAtEachStage(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	_, err := w.DB.Exec(ctx, "create publication theirs for all tables")
	require.NoError(t, err)
	requireIdentities := func(stage string) {
		t.Helper()
		require.Empty(t, fixture.WithoutIdentity(ctx, t, w.DB), stage)
	}
	stop := w.Project(ctx, t, 200)
	require.NoError(t, stop())
	requireIdentities("live tables")

	candidate := w.Open(ctx, t, "candidate")
	requireIdentities("empty tables of a candidate")
	const full = "select count(*) from pg_class where relnamespace = 'candidate'::regnamespace and relkind = 'r' and relreplident = 'f'"
	require.EqualValues(t, len(tables.NameList()), w.Number(ctx, t, full))
	r := w.Rebuild(t, candidate, 7) // later chunks change rows of earlier ones
	require.NoError(t, r.Run(ctx, w.Head(ctx, t)/2))
	requireIdentities("a candidate that is half built")
	require.NoError(t, r.Run(ctx, w.Head(ctx, t)))
	requireIdentities("a candidate")
	require.Zero(t, w.Number(ctx, t, full), "its keys are its identities")
	w.RequireSame(ctx, t, store.LiveSchema, "candidate")

	scratch := w.Rebuild(t, w.Open(ctx, t, store.VerifySchema), 7)
	scratch.Scratch = true
	require.NoError(t, scratch.Run(ctx, w.Head(ctx, t)))
	requireIdentities("tables of a verification")
	sales := w.Open(ctx, t, "dropped")
	require.NoError(t, sales.Drop(ctx))
	require.NoError(t, candidate.Drop(ctx))
}
