package browse

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

var shopDays = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

// lifeOf draws the events of some subscriptions: trials, payments of months, years and unknown periods, changes of the status,
// refunds. Times are within some months of now.
func lifeOf(t *rapid.T) (bodies []string) {
	now := time.Now().UTC()
	iso := func(days int) string { return now.AddDate(0, 0, days).Add(-time.Hour).Format(time.RFC3339) }
	event := func(id, kind string, at int, rest string) {
		bodies = append(bodies, fmt.Sprintf(`{"id":%q,"eventType":"subscription.%s","created_at":%d,"object":{"object":"subscription",
			"current_period_start_date":%q,"current_period_end_date":%q,"metadata":{"user_id":%q,"kind":"subscription"},%s}}`,
			id, kind, now.AddDate(0, 0, at).Add(-time.Hour).UnixMilli(), iso(at), iso(at+31), "of "+id, rest))
	}
	// What is rare is in every shop: a plan that is wholly refunded, one that is paused although its period is paid, one
	// whose upgrade is paid in part, and a trial that was paid later.
	event("f1", "paid", -5, `"id":"s11","status":"active","last_transaction":{"id":"f1","amount_paid":1000,"currency":"EUR"}`)
	bodies = append(bodies, fmt.Sprintf(`{"id":"f2","eventType":"refund.created","created_at":%d,"object":{"id":"f2","status":"succeeded",
		"refund_amount":1000,"transaction":{"id":"f1"}}}`, now.AddDate(0, 0, -3).UnixMilli()))
	event("f3", "paid", -6, `"id":"s12","status":"active","last_transaction":{"id":"f3","amount_paid":1000,"currency":"EUR"}`)
	event("f4", "paused", -2, `"id":"s12","status":"paused"`)
	event("f5", "paid", -20, `"id":"s13","status":"active","last_transaction":{"id":"f5","amount_paid":3000,"currency":"EUR"}`)
	event("f6", "paid", -10, `"id":"s13","status":"active","last_transaction":{"id":"f6","amount_paid":200,"currency":"EUR"}`)
	event("f7", "trialing", -50, `"id":"s14","status":"trialing"`)
	event("f8", "paid", -19, `"id":"s14","status":"active","last_transaction":{"id":"f8","amount_paid":700,"currency":"EUR"}`)
	for i := range rapid.IntRange(1, 25).Draw(t, "events") {
		subscription := rapid.IntRange(1, 2).Draw(t, "subscription")
		at := rapid.IntRange(-100, 0).Draw(t, "at")
		begins := at + rapid.IntRange(-3, 3).Draw(t, "begins")
		ends := begins + rapid.SampledFrom([]int{7, 15, 30, 31, 92, 365}).Draw(t, "ends")
		period := fmt.Sprintf(`"current_period_start_date":%q,"current_period_end_date":%q,`, iso(begins), iso(ends))
		if rapid.IntRange(0, 5).Draw(t, "unknown") == 0 {
			period = ""
		}
		kind := rapid.SampledFrom([]string{
			"subscription.paid", "subscription.paid", "subscription.paid", "subscription.paid", "subscription.trialing", "subscription.active",
			"subscription.past_due", "subscription.canceled", "subscription.expired", "subscription.paused",
			"subscription.scheduled_cancel", "refund.created", "refund.created",
		}).Draw(t, "type")
		created := now.AddDate(0, 0, at).Add(-time.Hour).UnixMilli() + int64(i)
		payment := 10*subscription + rapid.IntRange(1, 4).Draw(t, "payment")
		if kind == "refund.created" {
			bodies = append(bodies, fmt.Sprintf(`{"id":"e%d","eventType":%q,"created_at":%d,"object":{"id":"r%d","status":"succeeded",
				"refund_amount":%d,"transaction":{"id":"t%d"}}}`, i, kind, created, i, rapid.SampledFrom([]int{500, 100_000, 100_000}).Draw(t, "refunded"), payment))
			continue
		}
		status := kind[len("subscription."):]
		last := ""
		if kind == "subscription.paid" {
			status = "active"
			last = fmt.Sprintf(`"last_transaction":{"id":"t%d","amount_paid":%d,"currency":%q},`, payment,
				rapid.SampledFrom([]int{0, 999, 1000, 12_345}).Draw(t, "amount"), rapid.SampledFrom([]string{"EUR", "USD"}).Draw(t, "currency"))
		}
		bodies = append(bodies, fmt.Sprintf(`{"id":"e%d","eventType":%q,"created_at":%d,"object":{"id":"s%d","object":"subscription",%s%s
			"status":%q,"metadata":{"user_id":"u%d","kind":"subscription","credits":10}}}`,
			i, kind, created, subscription, period, last, status, subscription%3))
	}
	return bodies
}

// applyNow folds bodies that arrive now, after the message at seq after.
func applyNow(ctx context.Context, t *testing.T, s *store.Store, after uint64, bodies ...string) {
	t.Helper()
	var batch []events.Event
	for i, body := range bodies {
		batch = append(batch, providers.Decode(events.Message{Provider: "provider", Seq: after + uint64(i) + 1, Body: []byte(body), ReceivedAt: time.Now()}))
	}
	if len(batch) > 0 {
		_, err := live.Apply(ctx, s, fixture.AnyMode, batch, advance(batch, after))
		require.NoError(t, err)
	}
}

// rowsOf are the rows from which the measures follow.
type rowsOf struct {
	payments      []projections.Payment
	subscriptions []projections.SubscriptionState
	reversals     []projections.Reversal // in the order of the log
	until         map[string]*time.Time  // of a subscription with a status
	now           time.Time
}

func readRows(ctx context.Context, t require.TestingT, tx pgx.Tx) (r rowsOf) {
	var err error
	r.payments, err = tables.Payments.Rows(ctx, tx, "")
	require.NoError(t, err)
	r.subscriptions, err = tables.SubscriptionStates.Rows(ctx, tx, "")
	require.NoError(t, err)
	r.reversals, err = tables.Reversals.Rows(ctx, tx, "order by stream_seq")
	require.NoError(t, err)
	r.until = map[string]*time.Time{}
	rows, err := tx.Query(ctx, "select subscription_id, counts_until from subscription_facts")
	require.NoError(t, err)
	var id string
	var until *time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &until}, func() error { r.until[id] = until; return nil })
	require.NoError(t, err)
	require.NoError(t, tx.QueryRow(ctx, "select now()").Scan(&r.now))
	return r
}

func counts(status string) bool {
	switch status {
	case "active", "trialing", "past_due", "scheduled_cancel", "canceled":
		return true
	}
	return false
}

// refundedAt says when all payments of the current period were refunded; zero: not all of them are, or none is known.
func (r rowsOf) refundedAt(s projections.SubscriptionState) (last time.Time) {
	at := slices.IndexFunc(r.payments, func(p projections.Payment) bool { return p.ProviderPaymentID == s.ProviderPaymentID })
	if at < 0 {
		return last
	}
	newest := r.payments[at]
	if !newest.PeriodEnd.IsZero() && !s.CurrentPeriodEnd.IsZero() && !newest.PeriodEnd.Equal(s.CurrentPeriodEnd) {
		return last
	}
	for _, p := range r.payments {
		same := p.PeriodEnd.Equal(s.CurrentPeriodEnd)
		if p.PeriodEnd.IsZero() {
			same = !p.OccurredAt.Before(newest.OccurredAt) ||
				!s.CurrentPeriodStart.IsZero() && !p.OccurredAt.Before(s.CurrentPeriodStart.Add(-24*time.Hour))
		}
		switch {
		case p.ProviderPaymentID != s.ProviderPaymentID && (!p.Paid || !same || p.Kind != newest.Kind || p.SubscriptionID != s.SubscriptionID):
		case p.ReversedAt.IsZero():
			return time.Time{}
		case p.ReversedAt.After(last):
			last = p.ReversedAt
		}
	}
	return last
}

// endOf says when a subscription ended; nil: it is active.
func (r rowsOf) endOf(s projections.SubscriptionState) *time.Time {
	end := r.until[s.SubscriptionID]
	refundedAt := r.refundedAt(s)
	switch {
	case !refundedAt.IsZero():
		end = &refundedAt
	case !counts(s.Status):
		end = &s.OccurredAt
	case s.Status == "active" && (s.CurrentPeriodEnd.IsZero() || s.CurrentPeriodEnd.After(r.now)):
		return nil
	case end == nil || end.After(r.now):
		return nil
	}
	out := *end
	if out.After(r.now) {
		out = r.now
	}
	if s.StartedAt.After(out) {
		out = s.StartedAt
	}
	return &out
}

// recurringAt counts the months' shares at the end of a period naively: it looks at every payment of every subscription.
func (r rowsOf) recurringAt(end time.Time) map[string]int64 {
	out := map[string]int64{}
	seen := map[string]int64{}
	for _, p := range r.payments {
		if !p.Paid || !p.Known || p.SubscriptionID == "" || p.Amount == nil || *p.Amount <= 0 || !p.PeriodStart.Before(p.PeriodEnd) || p.PeriodStart.IsZero() {
			continue
		}
		until := p.PeriodEnd
		if !p.ReversedAt.IsZero() && p.ReversedAt.Before(until) {
			until = p.ReversedAt
		}
		for _, s := range r.subscriptions {
			if s.SubscriptionID == p.SubscriptionID && s.Status != "" && !counts(s.Status) && s.OccurredAt.Before(until) {
				until = s.OccurredAt
			}
		}
		begins, lasts := !p.PeriodStart.After(r.now) && p.PeriodStart.Before(end), until.After(r.now) || !until.Before(end)
		if !begins || !lasts || !p.PeriodStart.Before(until) {
			continue
		}
		days := math.Round(p.PeriodEnd.Sub(p.PeriodStart).Hours() / 24)
		months := days * 12 / 365.2425
		if days >= 28 {
			months = math.Round(months)
		}
		currency := p.Currency
		if currency == "" {
			currency = "unknown"
		}
		share := int64(math.Floor(float64(*p.Amount)/months + .5))
		key := p.SubscriptionID + currency
		if share > seen[key] {
			out[currency] += share - seen[key]
			seen[key] = share
		}
	}
	for currency, sum := range out {
		if sum == 0 {
			delete(out, currency)
		}
	}
	return out
}

func TestMeasuresAreThoseOfANaiveCount(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		fixture.Reset(ctx, t, s, fixture.AnyMode)
		applyNow(ctx, t, s, 0, lifeOf(rt)...)
		by, zone := rapid.SampledFrom(Steps).Draw(rt, "by"), drawZone(rt)
		require.NoError(rt, s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
			rows := readRows(ctx, rt, tx)
			span, err := SpanOf(rows.now.AddDate(0, 0, -110), time.Time{}, rows.now, by, zone)
			require.NoError(rt, err)
			days, err := readRevenue(ctx, tx, Moment{}, zone)
			require.NoError(rt, err)
			monthly, err := readRecurring(ctx, tx, Moment{At: rows.now}, zone)
			require.NoError(rt, err)
			all, err := readSubscriptions(ctx, tx, Moment{}, zone)
			require.NoError(rt, err)
			trials, err := readTrials(ctx, tx, Moment{}, zone)
			require.NoError(rt, err)
			rows.requireRevenue(rt, revenueByCurrency(days, span), span, seen)
			rows.requireRecurring(rt, monthly.of(span), span, seen)
			rows.requireSubscriptions(rt, countSubscriptions(all, span), span, seen)
			rows.requireTrials(rt, countTrials(trials, span), span, seen)
			rows.requireEntitlement(ctx, rt, tx)
			return nil
		}))
	})
	for _, what := range []string{"paid", "refunded", "recurring", "ended", "active", "new", "begun", "converted"} {
		require.NotZero(t, seen[what], what)
	}
}

// What is paid when a trial begins, such as a fee, buys nothing yet.
func TestATrialIsPaidLaterOnlyByWhatIsPaidAfterIt(t *testing.T) {
	t.Parallel()
	lemon := func(at time.Time, event, id, attributes string) string {
		return fmt.Sprintf(`{"meta":{"event_name":%q,"custom_data":{"user_id":"u1"}},"data":{"id":%q,"attributes":{"updated_at":%q,%s}}}`,
			event, id, at.Format(time.RFC3339), attributes)
	}
	dodo := func(at time.Time, event, data string) string {
		return fmt.Sprintf(`{"business_id":"b","type":%q,"timestamp":%q,"data":{"metadata":{"user_id":"u1"},"subscription_id":"s1",%s}}`, event, at.Format(time.RFC3339), data)
	}
	dodoPays := func(id string) string {
		return fmt.Sprintf(`"status":"succeeded","total_amount":900,"currency":"EUR","payment_id":%q`, id)
	}
	began := time.Now().UTC().AddDate(0, 0, -5).Truncate(time.Second)
	at, ends := began.Format(time.RFC3339), began.AddDate(0, 0, 14).Format(time.RFC3339)
	later := began.AddDate(0, 0, 3)
	for provider, log := range map[string][]string{
		"lemonsqueezy": {
			lemon(began, "order_created", "1", `"status":"paid","total":500,"first_order_item":{"variant_id":1}`),
			lemon(began.Add(time.Second), "subscription_created", "1", fmt.Sprintf(`"status":"on_trial","order_id":1,"variant_id":1,"renews_at":%q`, ends)),
			lemon(later, "subscription_payment_success", "2", `"status":"paid","subscription_id":1,"billing_reason":"renewal","total":900,"subtotal":900`),
		},
		"dodo": {
			dodo(began, "subscription.active", fmt.Sprintf(`"status":"active","product_id":"plan","created_at":%q,"trial_period_days":14,
				"previous_billing_date":%[1]q,"next_billing_date":%q`, at, ends)),
			dodo(began.Add(time.Second), "payment.succeeded", dodoPays("1")),
			dodo(later, "payment.succeeded", dodoPays("2")),
		},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			for paid, want := range map[int]trial{2: {running: true}, 3: {converted: true}} {
				ctx, s := fixture.Tables(t)
				var batch []events.Event
				for i, body := range log[:paid] {
					batch = append(batch, providers.Decode(events.Message{
						Provider: provider, ID: fmt.Sprint("m", i), Seq: uint64(i) + 1, Body: []byte(body), ReceivedAt: time.Now(),
					}))
				}
				_, err := live.Apply(ctx, s, fixture.AnyMode, batch, advance(batch, 0))
				require.NoError(t, err)
				require.NoError(t, s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
					trials, err := readTrials(ctx, tx, Moment{}, time.UTC)
					require.NoError(t, err)
					want.began = page.DateOf(began, time.UTC)
					require.Equal(t, []trial{want}, trials)
					return nil
				}))
			}
		})
	}
}

// zones are some whose clocks change at different moments: not at all, at night, and at midnight.
var zones = []string{"UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kathmandu", "Asia/Beirut", "Africa/Cairo", "Pacific/Apia"}

func drawZone(t *rapid.T) *time.Location {
	zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
	require.NoError(t, err)
	return zone
}

func (r rowsOf) requireRevenue(t *rapid.T, got []CurrencyRevenue, span Span, seen map[string]int) {
	type sums struct{ gross, refunded int64 }
	for i, p := range span.Periods() {
		within := func(at time.Time) bool { return !at.Before(p.From) && at.Before(p.To) }
		want, said := map[string]sums{}, map[string]sums{}
		for _, of := range r.payments {
			currency := cmp.Or(of.Currency, "unknown")
			now := want[currency]
			if of.Known && of.Amount != nil && within(of.OccurredAt) {
				now.gross += *of.Amount
				seen["paid"]++
			}
			var own []projections.Reversal
			for _, reversal := range r.reversals {
				if reversal.ProviderPaymentID == of.ProviderPaymentID {
					own = append(own, reversal)
				}
			}
			for j, amount := range projections.TakenBack(own, of) {
				if within(own[j].OccurredAt) {
					now.refunded += amount
					seen["refunded"]++
				}
			}
			want[currency] = now
		}
		maps.DeleteFunc(want, func(_ string, s sums) bool { return s == sums{} })
		for _, c := range got {
			gross, _ := c.Periods[i].Gross.Int64()
			refunded, _ := c.Periods[i].Refunded.Int64()
			if gross != 0 || refunded != 0 {
				said[c.Currency] = sums{gross, refunded}
			}
		}
		require.Equal(t, want, said, "%v", p)
	}
}

func (r rowsOf) requireRecurring(t *rapid.T, got []CurrencyRecurring, span Span, seen map[string]int) {
	for i, p := range span.Periods() {
		sums := map[string]int64{}
		for _, c := range got {
			require.Equal(t, p, c.Periods[i].Period)
			if n, _ := c.Periods[i].Monthly.Int64(); n != 0 {
				sums[c.Currency] = n
				seen["recurring"]++
			}
		}
		require.Equal(t, r.recurringAt(p.To), sums, "%v", p)
	}
}

func (r rowsOf) requireSubscriptions(t *rapid.T, got []SubscriptionPeriod, span Span, seen map[string]int) {
	for i, p := range span.Periods() {
		want := SubscriptionPeriod{Period: p}
		var before int64
		within := func(at time.Time) bool { return !at.Before(p.From) && at.Before(p.To) }
		for _, s := range r.subscriptions {
			if s.Status == "" || s.Status == "incomplete" || s.UserID == "" {
				continue
			}
			end := r.endOf(s)
			if s.StartedAt.Before(p.From) && (end == nil || !end.Before(p.From)) {
				before++
			}
			if s.StartedAt.Before(p.To) && (end == nil || !end.Before(p.To)) {
				want.Active++
			}
			if within(s.StartedAt) {
				want.New++
			}
			if end != nil && within(*end) {
				want.Ended++
			}
		}
		if before > 0 {
			want.Churn = new(float64(want.Ended) / float64(before))
		}
		require.Equal(t, want, got[i])
		seen["ended"], seen["active"], seen["new"] = seen["ended"]+int(want.Ended), seen["active"]+int(want.Active), seen["new"]+int(want.New)
	}
}

func (r rowsOf) requireTrials(t *rapid.T, got []TrialPeriod, span Span, seen map[string]int) {
	for i, p := range span.Periods() {
		want := TrialPeriod{Period: p}
		for _, s := range r.subscriptions {
			var began *projections.Fact
			for _, f := range s.Facts {
				if f.Status == "trialing" && began == nil {
					began = f
				}
			}
			if began == nil || s.Status == "" || s.UserID == "" || began.At.Before(p.From) || !began.At.Before(p.To) {
				continue
			}
			want.Begun++
			var first time.Time
			for _, paid := range r.payments {
				if paid.SubscriptionID == s.SubscriptionID && paid.Paid && paid.Amount != nil && *paid.Amount > 0 && (first.IsZero() || paid.OccurredAt.Before(first)) {
					first = paid.OccurredAt
				}
			}
			until := r.until[s.SubscriptionID]
			switch {
			case !first.IsZero() && !first.Before(began.At):
				want.Converted++
			case s.Status == "trialing" && (until == nil || until.After(r.now)):
				want.Running++
			}
		}
		if over := want.Begun - want.Running; over > 0 {
			want.Rate = new(float64(want.Converted) / float64(over))
		}
		require.Equal(t, want, got[i])
		seen["begun"], seen["converted"] = seen["begun"]+int(want.Begun), seen["converted"]+int(want.Converted)
	}
}

// requireEntitlement checks that a user with an active subscription is entitled, and nobody else.
func (r rowsOf) requireEntitlement(ctx context.Context, t *rapid.T, tx pgx.Tx) {
	want := map[string]bool{}
	for _, s := range r.subscriptions {
		if s.UserID != "" && s.Status != "" && s.Status != "incomplete" && (s.Kind == "" || s.Kind == projections.KindSubscription) && r.endOf(s) == nil {
			want[s.UserID] = true
		}
	}
	rows, err := tx.Query(ctx, "select distinct user_id from entitlement where active and kind = 'subscription'")
	require.NoError(t, err)
	users, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	got := map[string]bool{}
	for _, user := range users {
		got[user] = true
	}
	require.Equal(t, want, got)
}

func TestRevenueOfPeriodsIsThatOfTheirDays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var days []RevenueDay
		for range rapid.IntRange(0, 30).Draw(t, "days") {
			gross, refunded := rapid.Int64Range(0, 100).Draw(t, "gross"), rapid.Int64Range(-50, 200).Draw(t, "refunded")
			days = append(days, RevenueDay{
				date: shopDays.AddDate(0, 0, rapid.IntRange(0, 90).Draw(t, "day")), Currency: rapid.SampledFrom([]string{"EUR", "JPY"}).Draw(t, "currency"),
				Payments: 1, Gross: SumOf(gross), Refunded: SumOf(refunded), Net: SumOf(gross - refunded),
			})
		}
		span, err := SpanOf(shopDays.AddDate(0, 0, 10), shopDays.AddDate(0, 0, 70), shopDays, rapid.SampledFrom(Steps).Draw(t, "by"), time.UTC)
		require.NoError(t, err)
		payments := int64(0)
		before := span.By.before(span.first, len(span.Periods()))
		for _, c := range revenueByCurrency(days, span) {
			net := Sum{}
			for _, d := range days {
				if d.Currency == c.Currency && !d.date.Before(before) && d.date.Before(span.first) {
					net = net.Add(d.Net)
				}
			}
			require.Equal(t, net.String(), c.Before.Net.String())
			for _, p := range c.Periods {
				gross, refunded, count := new(big.Int), new(big.Int), int64(0)
				for _, d := range days {
					if d.Currency == c.Currency && !d.date.Before(p.From) && d.date.Before(p.To) {
						gross, refunded, count = gross.Add(gross, d.Gross.number()), refunded.Add(refunded, d.Refunded.number()), count+1
					}
				}
				require.Equal(t, [3]string{gross.String(), refunded.String(), fmt.Sprint(count)}, [3]string{p.Gross.String(), p.Refunded.String(), fmt.Sprint(p.Payments)})
				require.Equal(t, p.Gross.Sub(p.Refunded), p.Net)
				payments += count
			}
		}
		want := int64(0)
		for _, d := range days {
			if !d.date.Before(span.From) && d.date.Before(span.To) {
				want++
			}
		}
		require.Equal(t, want, payments, "no currency is left out")
	})
}

func TestPeriodsOfASpanFollowEachOther(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 23, 59, 0, 0, time.UTC) // a Tuesday, the last day of a month
	for _, name := range zones {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		for _, by := range Steps {
			span, err := SpanOf(time.Time{}, time.Time{}, now, by, zone)
			require.NoError(t, err)
			periods := span.Periods()
			require.Len(t, periods, usual[by])
			for i, p := range periods {
				require.True(t, p.From.Before(p.To))
				first, last := page.DateOf(p.From, zone), page.DateOf(p.To.Add(-1), zone)
				require.Equal(t, first, by.start(last), "%s by %s", zone, by)
				require.Equal(t, i, span.places()[first])
				if i > 0 {
					require.Equal(t, periods[i-1].To, p.From)
				}
			}
			require.True(t, !now.Before(periods[len(periods)-1].From) && now.Before(span.To))
		}
	}
	require.Equal(t, time.Monday, Week.start(now).Weekday())
	for _, wrong := range []struct {
		from, to time.Time
		by       Step
	}{{now, now.AddDate(0, 0, -3), Day}, {now.AddDate(-3, 0, 0), now, Day}, {now, now, "year"}} {
		_, err := SpanOf(wrong.from, wrong.to, now, wrong.by, time.UTC)
		require.ErrorIs(t, err, ErrSpan)
	}
}

func TestAYearIsTwelveMonths(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		amount, want int64
		to           time.Time
	}{
		{12_000, 1000, from.AddDate(1, 0, 0)},
		{12_000, 1000, from.AddDate(0, 0, 366)},
		{24_000, 1000, from.AddDate(2, 0, 0)},
		{1000, 1000, from.AddDate(0, 0, 28)},
		{1000, 1000, from.AddDate(0, 0, 31)},
		{1000, 1000, from.AddDate(0, 0, 28).Add(-time.Hour)},
		{3000, 1000, from.AddDate(0, 3, 0)},
		{100, 435, from.AddDate(0, 0, 7)},
		{1000, 83, from.AddDate(1, 0, 0)},
		{1, 30, from.Add(time.Minute)},
		{math.MaxInt64, math.MaxInt64, from.AddDate(0, 0, 7)},
	} {
		require.Equal(t, c.want, monthly(c.amount, from, c.to), "%v", c)
	}
}

// The sum is what the function that apps call says of each user.
func TestCreditsAreWhatUsersCanSpend(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		fixture.Reset(ctx, t, s, fixture.AnyMode)
		_, err := s.Pool().Exec(ctx, "truncate wallet.spend_part, wallet.spend, wallet.account")
		require.NoError(rt, err)
		var bodies []string
		for i := range rapid.IntRange(1, 8).Draw(rt, "packs") {
			bodies = append(bodies, fixture.Pack(fmt.Sprint("b", i), fmt.Sprint("p", i), fmt.Sprint("u", rapid.IntRange(1, 3).Draw(rt, "user")), rapid.IntRange(1, 50).Draw(rt, "credits")))
		}
		bodies = append(bodies, lifeOf(rt)...)
		applyNow(ctx, t, s, 0, bodies...)
		for i := range rapid.IntRange(0, 6).Draw(rt, "spends") {
			function := rapid.SampledFrom([]string{"wallet.spend($1, $2, $3)", "wallet.hold($1, $2, $3, '1 day')"}).Draw(rt, "function")
			_, err := s.Pool().Exec(ctx, "select "+function, fmt.Sprint("u", rapid.IntRange(1, 3).Draw(rt, "spender")), rapid.IntRange(1, 20).Draw(rt, "spent"), fmt.Sprint("k", i))
			require.NoError(rt, err)
		}
		var more []string // refunds of what may be spent
		for i := range rapid.IntRange(0, 3).Draw(rt, "refunds") {
			more = append(more, fmt.Sprintf(`{"id":"x%d","eventType":"refund.created","object":{"id":"rx%[1]d","status":"succeeded","transaction":{"id":"p%[1]d"}}}`, i))
		}
		applyNow(ctx, t, s, uint64(len(bodies)), more...)
		require.NoError(rt, s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
			zone := drawZone(rt)
			got, err := readCredits(ctx, tx, Moment{Schema: store.LiveSchema}, zone)
			require.NoError(rt, err)
			key := func(kind string, month *time.Time) string {
				if month == nil {
					return kind
				}
				return kind + " " + month.UTC().String()
			}
			sums := map[string]string{}
			for _, e := range got {
				sums[key(e.Kind, e.Month)] = e.Credits.String()
			}
			rows, err := tx.Query(ctx, `select g.kind, date_trunc('month', g.expires_at, $1), sum(g.usable)::text
				from (select distinct user_id from credit_ledger) u cross join lateral wallet.grants(u.user_id) g
				where g.usable > 0 group by 1, 2`, zone.String())
			require.NoError(rt, err)
			want := map[string]string{}
			var kind, sum string
			var month *time.Time
			_, err = pgx.ForEachRow(rows, []any{&kind, &month, &sum}, func() error {
				want[key(kind, month)] = sum
				return nil
			})
			require.Equal(rt, want, sums)
			return err
		}))
	})
}
