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

func TestAViewOfAnotherSchemaReadsItsTables(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Applied(t, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u1", 1))
	fixture.Candidate(ctx, t, live, 1)
	for range 3 { // on the same connections
		for _, want := range []struct {
			of     *store.Store
			schema string
			events int
		}{{live, "portal", 2}, {live.At("portal_next"), "portal_next", 1}, {live.At("portal_next").At("portal"), "portal", 2}} {
			require.Equal(t, want.schema, want.of.Schema())
			var events int
			require.NoError(t, want.of.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
				return tx.QueryRow(ctx, "select count(*) from processed_event").Scan(&events)
			}))
			require.Equal(t, want.events, events, want.schema)
		}
	}
	require.ErrorIs(t, live.At("none").View(ctx, func(context.Context, pgx.Tx) error { return nil }), store.ErrNotPrepared)
}
