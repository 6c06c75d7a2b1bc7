package live_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// grant is a row of the view credit_grant.
type grant struct {
	payment           string
	part              int64
	user, kind        string
	granted, reversed int64
	available         time.Time
	expires           *time.Time
	event             string
}

func (g grant) String() string {
	expires := "never"
	if g.expires != nil {
		expires = g.expires.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s/%d of %s: %s %d-%d, %s to %s, by %s", g.payment, g.part, g.user, g.kind, g.granted, g.reversed,
		g.available.UTC().Format(time.RFC3339Nano), expires, g.event)
}

// grantsOf computes the grants of a ledger line by line, with the times of its payments.
func grantsOf(lines []projections.LedgerLine, paid map[string]time.Time) (all []grant) {
	payments := map[string][]projections.LedgerLine{}
	for _, line := range lines {
		payments[line.ProviderPaymentID] = append(payments[line.ProviderPaymentID], line)
	}
	for _, ledger := range payments {
		slices.SortFunc(ledger, func(a, b projections.LedgerLine) int { return cmp.Compare(a.Line, b.Line) })
		var own []grant
		for _, line := range ledger {
			if line.Entry != "grant" {
				continue
			}
			one := grant{
				payment: line.ProviderPaymentID, user: line.UserID, kind: line.Kind, granted: line.Delta,
				available: line.AvailableAt, event: line.EventID,
			}
			if !line.ExpiresAt.IsZero() {
				one.expires = &line.ExpiresAt
			}
			for _, other := range ledger {
				switch {
				case other.ReversesLine == nil || *other.ReversesLine != line.Line:
				case other.Entry == "correction" && other.Delta < 0:
					one.granted += other.Delta
				default:
					one.reversed -= other.Delta
				}
			}
			if one.granted != 0 {
				own = append(own, one)
			}
		}
		slices.SortStableFunc(own, func(a, b grant) int { return a.available.Compare(b.available) })
		var merged []grant
		for _, one := range own {
			n := len(merged)
			if n > 0 && one.available.Before(merged[n-1].available.AddDate(0, 0, 28)) {
				merged[n-1].granted += one.granted
				merged[n-1].reversed += one.reversed
				continue
			}
			if one.part = 1; n > 0 {
				one.part = merged[n-1].part + 1
			}
			for n == 0 && !one.available.Before(monthsAfter(paid[one.payment], one.part)) { // nothing was granted in that month
				one.part++
			}
			merged = append(merged, one)
		}
		all = append(all, merged...)
	}
	return all
}

// monthsAfter returns the begin of a month that is counted from a payment. If that month is shorter, it is its last day.
func monthsAfter(paid time.Time, months int64) time.Time {
	begin := paid.AddDate(0, int(months), 0)
	if begin.Day() < paid.Day() {
		begin = begin.AddDate(0, 0, -begin.Day())
	}
	return begin
}

func printedGrants(all []grant) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = one.String()
	}
	slices.Sort(out)
	return out
}

// The view has each month of each payment once, and nothing of the ledger appears in two grants or in none.
func TestTheGrantsAreThoseOfTheLedger(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	read := func() (all []grant) {
		rows, err := s.Pool().Query(ctx, `select provider_payment_id, part, user_id, kind, granted, reversed, available_at,
			expires_at, event_id from credit_grant`)
		require.NoError(t, err)
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g grant, err error) {
			return g, row.Scan(&g.payment, &g.part, &g.user, &g.kind, &g.granted, &g.reversed, &g.available, &g.expires, &g.event)
		})
		require.NoError(t, err)
		return all
	}
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.Sold, fixture.Sold}).Draw(r, "rules")
		fixture.Reset(ctx, t, s, rules)
		bodies := fixture.Bodies(r)
		log, whole := fixture.OneFold(t, rules, bodies)
		_, err := live.Apply(ctx, s, rules, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
		require.NoError(t, err)
		paid := map[string]time.Time{}
		for _, p := range whole.Payments.All() {
			paid[p.ProviderPaymentID] = p.OccurredAt
		}
		require.Equal(r, printedGrants(grantsOf(whole.Ledger.Inserted(), paid)), printedGrants(read()))
		require.Zero(r, fixture.Number(ctx, t, s, `select count(*) from (
			select user_id, sum(delta) as credits from credit_ledger group by user_id having sum(delta) <> 0) l
			full join (select user_id, sum(granted - reversed) as credits from credit_grant group by user_id
				having sum(granted - reversed) <> 0) g using (user_id)
			where l.credits is distinct from g.credits`))
		require.Zero(r, fixture.Number(ctx, t, s, `select count(*) from credit_grant where granted < reversed or reversed < 0`))
	})
}
