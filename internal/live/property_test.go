package live_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// Any events, split into any batches, give the tables of one fold from the start, and no
// money appears or disappears.
func TestAnyBatchesGiveTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.AnyMode, fixture.Sold}).Draw(r, "rules")
		fixture.Reset(ctx, t, s, rules)
		log, whole := fixture.OneFold(t, rules, fixture.Bodies(r))
		position := uint64(0)
		for rest := log; len(rest) > 0; {
			size := rapid.IntRange(1, len(rest)).Draw(r, "batch")
			to := rest[size-1].Seq
			_, err := live.Apply(ctx, s, rules, rest[:size], store.Advance{LogID: "log-1", From: fixture.From(0, position), To: to})
			require.NoError(t, err)
			_, err = live.Apply(ctx, s, rules, rest[:size], store.Advance{LogID: "log-1", From: fixture.From(0, position), To: to})
			require.ErrorIs(t, err, store.ErrFenced, "the same batch again")
			position, rest = to, rest[size:]
		}
		fixture.RequireTablesOf(ctx, r, s, whole)
		fixture.RequireSound(ctx, r, s, len(log))
	})
}
