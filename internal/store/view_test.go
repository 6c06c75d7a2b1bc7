package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAViewIsOfOneSetOfTables(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Applied(t, fixture.Pack("e1", "p1", "u1", 1))
	const promoted = "alter schema portal rename to portal_prev; create schema portal; create table portal.processed_event ()"
	for _, swap := range []string{promoted, "drop schema portal cascade; alter schema portal_prev rename to portal"} {
		readings := 0
		err := s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
			if readings++; readings == 1 {
				_, err := s.Pool().Exec(ctx, swap)
				require.NoError(t, err)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 2, readings, swap)
	}
}

func TestAReadIsRepeatedWhereItsTablesDisappear(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Applied(t, fixture.Pack("e1", "p1", "u1", 1))
	readings := 0
	require.NoError(t, s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		readings++
		if readings == 1 {
			_, err := tx.Exec(ctx, "select from portal_next.checkpoint")
			return err
		}
		return nil
	}))
	require.Equal(t, 2, readings)
	require.True(t, store.NotPrepared(s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "select from portal_next.checkpoint")
		return err
	})), "but not for ever")
}
