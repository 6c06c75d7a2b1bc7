package browse

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

var createdAt = regexp.MustCompile(`"created_at":(\d+),"object"`)

// movedBy returns the body with its provider's time moved.
func movedBy(t *testing.T, body string, by time.Duration) string {
	t.Helper()
	found := createdAt.FindStringSubmatch(body)
	require.NotNil(t, found, body)
	at, err := strconv.ParseInt(found[1], 10, 64)
	require.NoError(t, err)
	return createdAt.ReplaceAllString(body, fmt.Sprintf(`"created_at":%d,"object"`, at+by.Milliseconds()))
}

// fold applies a log to the tables, and returns revenue_daily of it.
func fold(ctx context.Context, t *testing.T, s *store.Store, bodies []string) []RevenueDay {
	t.Helper()
	log, whole := fixture.OneFold(t, fixture.WithRevenue, bodies)
	const batch = 1000
	for begin := 0; begin < len(log); begin += batch {
		part := log[begin:min(begin+batch, len(log))]
		_, err := live.Apply(ctx, s, fixture.AnyMode, part, advance(part, uint64(begin)))
		require.NoError(t, err)
	}
	days := revenueDays{}
	for _, d := range whole.Revenue.All() {
		*days.at(d.Day, d.Currency, d.Kind) = RevenueDay{d.Day, d.Currency, d.Kind, d.Payments, SumOf(d.Gross), SumOf(d.Refunded), SumOf(d.Net), d.Day}
	}
	return days.list(time.UTC)
}

func advance(part []events.Event, after uint64) store.Advance {
	from := map[int]uint64{}
	for partition := range fixture.Partitions {
		from[partition] = after
	}
	return store.Advance{LogID: "log-1", From: from, To: part[len(part)-1].Seq}
}

func revenueOf(ctx context.Context, t require.TestingT, s *store.Store) (days []RevenueDay) {
	require.NoError(t, s.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		days, err = readRevenue(ctx, tx, Moment{}, time.UTC)
		return err
	}))
	return days
}

// A shop's log, over some weeks, with refunds of payments that were known.
func TestRevenueIsThatOfRevenueDaily(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	const count = 4000
	var bodies []string
	for i := range count {
		bodies = append(bodies, movedBy(t, testenv.ShopEvent(i), -time.Duration(count-i)*10*time.Minute))
	}
	want := fold(ctx, t, s, bodies)
	require.Equal(t, want, revenueOf(ctx, t, s))
	refunded := map[time.Time]bool{}
	for _, d := range want {
		if d.Refunded.Float() > 0 {
			refunded[d.Day] = true
		}
	}
	require.Greater(t, len(refunded), 5, "refunds of many days")
}

// In any order of arrival, with payments that turn out to be one, payments and gross are those of
// revenue_daily, and so is the sum of what was taken back.
func TestRevenueOfAnyLogHasTheSumsOfRevenueDaily(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	rapid.Check(t, func(r *rapid.T) {
		fixture.Reset(ctx, t, s, fixture.AnyMode)
		bodies := fixture.Bodies(r)
		for i := range bodies {
			bodies[i] = movedBy(t, bodies[i], -24*time.Hour*time.Duration(rapid.IntRange(0, 3).Draw(r, "days")))
		}
		want, wantRefunded := withoutRefunds(fold(ctx, t, s, bodies))
		got, refunded := withoutRefunds(revenueOf(ctx, r, s))
		require.Equal(r, want, got)
		require.Equal(r, wantRefunded, refunded)
	})
}

func withoutRefunds(days []RevenueDay) (paid []RevenueDay, refunded Sum) {
	for _, d := range days {
		refunded = refunded.Add(d.Refunded)
		if d.Refunded, d.Net = (Sum{}), (Sum{}); d.Payments != 0 || d.Gross != (Sum{}) {
			paid = append(paid, d)
		}
	}
	return paid, refunded
}

func TestRevenueIsKeptForHalfAMinute(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	const day = 24 * time.Hour
	today := time.Now().UTC().Truncate(day)
	for i := range 5 {
		_, err := s.Pool().Exec(ctx, `insert into payment_facts (provider_payment_id, provider, kind, amount, currency, event_id, occurred_at, stream_seq, paid, known, lasts, reversed_seq)
			values ($1, 'provider', 'pro', 100, 'EUR', 'e', $2, 1, true, true, false, 0)`, fmt.Sprint("p", i), today.Add(-time.Duration(i)*day))
		require.NoError(t, err)
	}
	measures := running(ctx, t)
	got, err := measures.RevenueOfLastDays(ctx, s, 2)
	require.NoError(t, err)
	require.Len(t, got.Days, 2)
	require.Equal(t, RevenueDay{Day: got.Days[0].Day, Currency: "EUR", Kind: "pro", Payments: 1, Gross: SumOf(100), Net: SumOf(100), date: today}, got.Days[0])
	require.Empty(t, got.Fault)
	require.Equal(t, SumOf(200), got.Currencies[0].Before.Net, "of the two days before")
	thisMonth := int64(min(5, today.Day()))
	require.Equal(t, []Sum{SumOf(500 - 100*thisMonth), SumOf(100 * thisMonth)}, []Sum{got.Months[0].Periods[0].Net, got.Months[0].Periods[1].Net})

	_, err = s.Pool().Exec(ctx, "delete from payment_facts")
	require.NoError(t, err)
	again, err := measures.RevenueOfLastDays(ctx, s, 100)
	require.NoError(t, err)
	require.Len(t, again.Days, 5, "it is not older than 30 seconds")
	require.Equal(t, got.At, again.At)
	measures.grow(keptAge)
	again, err = measures.RevenueOfLastDays(ctx, s, 100)
	require.NoError(t, err)
	require.Empty(t, again.Days)
}

func TestRevenueIsOfTheTablesThatHaveTheName(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	measures := running(ctx, t)
	got, err := measures.RevenueOfLastDays(ctx, s, 10_000)
	require.NoError(t, err)
	require.NotEmpty(t, got.Days)
	for _, sql := range []string{"drop schema portal cascade", "delete from payfold.schema_state"} {
		_, err := s.Pool().Exec(ctx, sql)
		require.NoError(t, err)
	}
	require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	got, err = measures.RevenueOfLastDays(ctx, s, 10_000)
	require.NoError(t, err)
	require.Empty(t, got.Days)
}

func TestWhyRevenueCannotBeAddedUp(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	_, err := s.Pool().Exec(ctx, "alter table payment_facts rename column known to sold")
	require.NoError(t, err)
	fault := faultOfRevenue(ctx, t, s, running(ctx, t))
	require.Contains(t, fault, `column "known" does not exist`)
	require.NotContains(t, fault, "takes longer")
}

func TestRevenueOfTooManyPaymentsCannotBeAddedUp(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	tx, err := s.Pool().Begin(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(ctx)) }()
	_, err = tx.Exec(ctx, "lock table payment_facts")
	require.NoError(t, err)
	measures := running(ctx, t)
	measures.background.timeout = 100 * time.Millisecond
	require.Equal(t, "it takes longer than 100ms; use projector rebuild --with revenue_daily", faultOfRevenue(ctx, t, s, measures))
}

func faultOfRevenue(ctx context.Context, t *testing.T, s *store.Store, measures *Measures) string {
	t.Helper()
	got, err := measures.RevenueOfLastDays(ctx, s, 1)
	require.NoError(t, err)
	require.Empty(t, got.Days)
	return got.Fault
}

func TestRevenueBeyond64BitsIsExact(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	_, err := s.Pool().Exec(ctx, `insert into payment_facts (provider_payment_id, provider, kind, amount, currency, event_id, occurred_at, stream_seq, paid, known, lasts, reversed_seq)
		select 'p' || i, 'provider', 'pro', 9223372036854775807, 'IRR', 'e', '2021-01-01', i, true, true, false, 0 from generate_series(1, 3) i`)
	require.NoError(t, err)
	days := revenueOf(ctx, t, s)
	require.Len(t, days, 1)
	require.Equal(t, "27670116110564327421", days[0].Gross.String())
}
