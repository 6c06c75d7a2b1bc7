package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASchemaDroppedByHandIsInNobodysWay(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	next, err := s.Beside(ctx, "portal_next")
	require.NoError(t, err)
	defer next.Close()
	require.NoError(t, next.Prepare(ctx, "log-1", partitions, anyMode))
	_, err = s.pool.Exec(ctx, "drop schema portal_next cascade")
	require.NoError(t, err)
	list, err := s.Schemas(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, LiveSchema, list[0].Name)
	_, err = s.Status(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, next.Drop(ctx), ErrNoSchema)
	require.NoError(t, next.Prepare(ctx, "log-2", partitions, anyMode), "made anew")
	again, err := s.SchemaNamed(ctx, "portal_next")
	require.NoError(t, err)
	require.Equal(t, "log-2", again.LogID)
}
