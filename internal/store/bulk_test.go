package store

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// However the log is split into batches and stretches, what is folded in bulk
// is what one fold gives, also where Apply went first or a stretch was given up.
func TestBulkGivesTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	indexes := indexesOf(t, s)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{anyMode, anyMode, sold}).Draw(r, "rules")
		reset(ctx, t, s, rules)
		bodies := shop(r)
		log := make([]events.Event, len(bodies))
		whole := projections.NewState()
		for i, body := range bodies {
			log[i] = event(t, uint64(i+1), body)
			rules.Fold(whole, log[i])
		}
		saved := rapid.IntRange(0, len(log)-1).Draw(r, "applied")
		_, err := s.Apply(ctx, rules, log[:saved], Advance{From: from(0, 0), To: uint64(saved)})
		require.NoError(t, err)
		_, err = s.pool.Exec(ctx, "update checkpoint set position = $1", saved)
		require.NoError(t, err)
		for saved < len(log) {
			bulk, err := s.NewBulk(ctx, rules, uint64(len(log)))
			require.NoError(t, err)
			require.Equal(t, map[int]uint64{0: uint64(saved), 1: uint64(saved), 2: uint64(saved), 3: uint64(saved)}, bulk.Positions())
			for at, givesUp := saved, false; saved < len(log) && !givesUp; {
				size := rapid.IntRange(1, max(1, len(log)-at)).Draw(r, "batch")
				size = min(size, len(log)-at)
				require.NoError(t, bulk.Fold(ctx, log[at:at+size]))
				at += size
				switch rapid.SampledFrom([]string{"go on", "save", "give up"}).Draw(r, "then") {
				case "save":
					require.NoError(t, bulk.Save(ctx, uint64(at), nil))
					saved = at
				case "give up":
					givesUp = true
				}
				if at == len(log) && saved < at {
					givesUp = true
				}
			}
			bulk.Close()
		}
		requireSameTables(ctx, r, s, whole)
		requireSound(ctx, r, s, len(log))
		require.Equal(t, indexes, indexesOf(t, s))
	})
}

func indexesOf(t *testing.T, s *Store) (list string) {
	t.Helper()
	require.NoError(t, s.pool.QueryRow(t.Context(),
		"select string_agg(indexdef, E'\\n' order by indexdef) from pg_indexes where schemaname = $1", s.schema).Scan(&list))
	return list
}
