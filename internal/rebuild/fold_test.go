package rebuild

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func newRebuild(t *testing.T, s *store.Store, rules projections.Rules, log fixture.Tape) *Rebuild {
	return &Rebuild{Log: log, Store: s, Rules: rules, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}, Stage: tables.InUse}
}

// newCandidate makes a schema without an index anew.
func newCandidate(ctx context.Context, t require.TestingT, live, s *store.Store, rules projections.Rules) {
	_, err := live.Pool().Exec(ctx, "drop schema if exists candidate cascade; delete from payfold.schema_state where schema_name = 'candidate'; delete from payfold.quarantined_event")
	require.NoError(t, err)
	require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, rules))
}

// However large the buckets are and however little fits in memory, the rows are those of one fold in the order of the
// log, also where a part of the log came later. The indexes are those of the live tables.
func TestARebuildGivesTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s, err := live.OpenSchema(ctx, "candidate")
	require.NoError(t, err)
	defer s.Close()
	want := fixture.KeysAndIndexes(ctx, t, live)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.WithRevenue, fixture.Sold}).Draw(r, "rules")
		newCandidate(ctx, r, live, s, rules)
		draw := rapid.SampledFrom([]func(*rapid.T) []string{fixture.Bodies, customers}).Draw(r, "log")
		if len(rules.Extras) == 0 && rapid.Bool().Draw(r, "namesakes") { // whose amounts revenue_daily refuses
			draw = namesakes
		}
		bodies := draw(r)
		_, whole := fixture.OneFold(t, rules, bodies)
		for at := 0; at < len(bodies); {
			at += rapid.IntRange(1, len(bodies)-at).Draw(r, "until")
			if rapid.Bool().Draw(r, "all") {
				at = len(bodies)
			}
			rebuild := newRebuild(t, s, rules, fixture.TapeOf(bodies...))
			rebuild.bucket = rapid.SampledFrom([]uint64{1, 1, 3, 0}).Draw(r, "bucket")
			rebuild.memory = rapid.SampledFrom([]int{1, 2_000, 20_000, 0}).Draw(r, "memory")
			rebuild.Batch = rapid.SampledFrom([]uint64{1, 7, 0}).Draw(r, "batch")
			require.NoError(r, rebuild.Run(ctx, uint64(at)))
		}
		fixture.RequireTablesOf(ctx, r, s, whole)
		fixture.RequireSound(ctx, r, s, len(bodies))
		if len(rules.Extras) > 0 {
			fixture.RequireRows(ctx, r, s, tables.RevenueByDay, whole.Revenue.Inserted())
			requireRevenue(ctx, r, s)
			return
		}
		require.Equal(r, want, strings.ReplaceAll(fixture.KeysAndIndexes(ctx, r, s), "candidate.", "portal."))
	})
}

// customers draws a shop in which most customers have names of their own. Some share a user, a subscription, a payment, an
// order or the id of an event with another customer.
func customers(t *rapid.T) []string {
	all := rapid.IntRange(2, 12).Draw(t, "customers")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		customer := rapid.IntRange(1, all).Draw(t, "customer")
		name := func(kind string) string {
			of := customer
			if rapid.IntRange(0, 9).Draw(t, kind+" of another") == 0 {
				of = rapid.IntRange(1, all).Draw(t, kind)
			}
			return fmt.Sprintf("%s%d", kind, of)
		}
		numbered := func(kind string) string {
			return fmt.Sprintf("%s_%d", name(kind), rapid.IntRange(1, 3).Draw(t, kind+" number"))
		}
		pick := func(label string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, label) }
		some := func(field string) string {
			if rapid.IntRange(0, 2).Draw(t, "with") == 0 {
				return `"nothing":1`
			}
			return field
		}
		return fmt.Sprintf(`{"id":%q,"eventType":%q,"created_at":%d,"object":{"customer":"c%d",%s,%s,%s,"metadata":{%s,%s,"credits":%d},%s}}`,
			numbered("e")+pick("id", "a", "b", "c", "d", "e"),
			pick("type", "checkout.completed", "subscription.paid", "subscription.active", "subscription.canceled", "refund.created", "customer.created"),
			1767340000000+rapid.IntRange(0, 5).Draw(t, "time")*1000, customer,
			some(fmt.Sprintf(`"provider_payment_id":%q`, numbered("t"))), some(fmt.Sprintf(`"order":%q`, numbered("o"))), some(fmt.Sprintf(`"subscription":%q`, name("s"))),
			some(fmt.Sprintf(`"user_id":%q`, name("u"))), pick("kind", `"kind":"one_time"`, `"kind":"subscription"`, `"kind":"pro"`, `"key":"pack"`),
			rapid.IntRange(1, 9).Draw(t, "credits"), pick("amount", `"refund_amount":1`, `"amount":3`))
	}), 1, 60).Draw(t, "bodies")
}

// requireRevenue compares the sums by day with those of the payments.
func requireRevenue(ctx context.Context, t require.TestingT, s *store.Store) {
	var wrong int
	require.NoError(t, s.Pool().QueryRow(ctx, `select count(*)
		from (select date_trunc('day', occurred_at) as day, coalesce(currency, 'unknown') as currency, kind, count(*) as payments, coalesce(sum(amount), 0) as gross
			from payment_facts where known group by 1, 2, 3) p
		full join (select * from revenue_daily where payments <> 0 or gross <> 0) r using (day, currency, kind)
		where p.payments is distinct from r.payments or p.gross is distinct from r.gross`).Scan(&wrong))
	require.Zero(t, wrong, "what was paid")
	require.NoError(t, s.Pool().QueryRow(ctx, `select (select coalesce(sum(refunded_amount), 0) from payment_facts) - (select coalesce(sum(refunded), 0) from revenue_daily)`).Scan(&wrong))
	require.Zero(t, wrong, "what was taken back")
	require.NoError(t, s.Pool().QueryRow(ctx, `select (select count(*) from processed_event where outcome = 'rejected' and event_type in ('checkout.completed', 'subscription.paid'))
		- (select coalesce(sum(rejected_events), 0) from revenue_daily)`).Scan(&wrong))
	require.Zero(t, wrong, "what was rejected")
}
