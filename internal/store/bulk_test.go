package store

import (
	"context"
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
	_, err := s.pool.Exec(ctx, revenueDaily)
	require.NoError(t, err)
	indexes := indexesOf(t, s)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{anyMode, withRevenue, sold}).Draw(r, "rules")
		reset(ctx, t, s, rules)
		_, err := s.pool.Exec(ctx, "truncate revenue_daily")
		require.NoError(t, err)
		bodies := shop(r)
		log := make([]events.Event, len(bodies))
		whole := projections.NewState()
		for i, body := range bodies {
			log[i] = event(t, uint64(i+1), body)
			rules.Fold(whole, log[i])
		}
		saved := rapid.IntRange(0, len(log)-1).Draw(r, "applied")
		if len(rules.Extras) > 0 {
			saved = 0 // live tables have no extras
		}
		_, err = s.Apply(ctx, rules, log[:saved], Advance{From: from(0, 0), To: uint64(saved)})
		require.NoError(t, err)
		_, err = s.pool.Exec(ctx, "update checkpoint set position = $1", saved)
		require.NoError(t, err)
		for saved < len(log) {
			saved = foldSome(ctx, r, s, rules, log, saved)
		}
		bulk, err := s.NewBulk(ctx, rules, 0)
		require.NoError(r, err)
		defer bulk.Close()
		require.NoError(r, bulk.Finish(ctx))
		requireSameTables(ctx, r, s, whole)
		requireSound(ctx, r, s, len(log))
		requireRows(ctx, r, s, "revenue_daily", whole.Revenue.Inserted())
		if len(rules.Extras) > 0 {
			requireRevenue(ctx, r, s)
		}
		require.Equal(t, indexes, indexesOf(t, s))
	})
}

// foldSome folds in bulk from there on, saves now and then, gives up somewhere
// and returns up to where it is saved.
func foldSome(ctx context.Context, r *rapid.T, s *Store, rules projections.Rules, log []events.Event, saved int) int {
	bulk, err := s.NewBulk(ctx, rules, uint64(len(log)))
	require.NoError(r, err)
	defer bulk.Close()
	for _, position := range bulk.Positions() {
		require.EqualValues(r, saved, position)
	}
	for at := saved; at < len(log); {
		size := rapid.IntRange(1, len(log)-at).Draw(r, "batch")
		require.NoError(r, bulk.Fold(ctx, log[at:at+size]))
		at += size
		switch rapid.SampledFrom([]string{"go on", "save", "give up"}).Draw(r, "then") {
		case "save":
			require.NoError(r, bulk.Save(ctx, uint64(at), nil))
			saved = at
		case "give up":
			return saved
		}
	}
	return saved
}

var withRevenue = projections.Rules{Mode: projections.ModeAny, Extras: []string{"revenue_daily"}}

// requireRevenue compares the sums by day with those of the payments.
func requireRevenue(ctx context.Context, t require.TestingT, s *Store) {
	var wrong int
	require.NoError(t, s.pool.QueryRow(ctx, `select count(*)
		from (select date_trunc('day', occurred_at) as day, coalesce(currency, 'unknown') as currency, kind, count(*) as payments, coalesce(sum(amount), 0) as gross
			from payment where kind is not null group by 1, 2, 3) p
		full join (select * from revenue_daily where payments <> 0 or gross <> 0) r using (day, currency, kind)
		where p.payments is distinct from r.payments or p.gross is distinct from r.gross`).Scan(&wrong))
	require.Zero(t, wrong, "what was paid")
	require.NoError(t, s.pool.QueryRow(ctx, `select (select coalesce(sum(refunded_amount), 0) from payment) - (select coalesce(sum(refunded), 0) from revenue_daily)`).Scan(&wrong))
	require.Zero(t, wrong, "what was taken back")
	require.NoError(t, s.pool.QueryRow(ctx, `select (select count(*) from processed_event where outcome = 'rejected' and event_type in ('checkout.completed', 'subscription.paid'))
		- (select coalesce(sum(rejected_events), 0) from revenue_daily)`).Scan(&wrong))
	require.Zero(t, wrong, "what was rejected")
}

func indexesOf(t *testing.T, s *Store) (list string) {
	t.Helper()
	require.NoError(t, s.pool.QueryRow(t.Context(),
		"select string_agg(indexdef, E'\\n' order by indexdef) from pg_indexes where schemaname = $1", s.schema).Scan(&list))
	return list
}
