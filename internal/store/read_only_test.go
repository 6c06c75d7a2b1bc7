package store_test

import (
	"strings"
	"testing"

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
	for _, schema := range []string{store.LiveSchema, "portal_june"} {
		console, err := store.Open(ctx, store.Config{DSN: strings.Replace(portal, "payfold_portal", "payfold_console", 1), Schema: schema})
		require.NoError(t, err)
		defer console.Close()
		require.NoError(t, console.CheckReadOnly(ctx))
		_, err = console.SchemaNamed(ctx, schema)
		require.NoError(t, err)
		require.EqualValues(t, 0, fixture.Number(ctx, t, console, "select count(*) from payment"))
		_, err = console.Pool().Exec(ctx, "set transaction read write; insert into credits values ('u', 1, 1, 0, 1)")
		require.ErrorContains(t, err, "permission denied")
	}
}
