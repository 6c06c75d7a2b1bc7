package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

const entitling = `
version: 1
products:
  plan: {kind: subscription, grace_days: 3}
  strict: {kind: subscription}
  tool: {kind: pro}
  tool_monthly: {kind: pro, lasts: subscription, grace_days: 3}
  pack: {kind: one_time, credits: 10}
  fee: {kind: none}
  lemonsqueezy:variant:1: {kind: subscription}
  lemonsqueezy:variant:2: {kind: subscription}
`

// entitlement is a row of the view, with until in days from now; nil: for ever.
type entitlement struct {
	Product, Kind string
	Active        bool
	Status        string
	Until         *int
	Because       string
}

func days(n int) *int { return &n }

// told is an event of s1, with its moment and its period in days from now.
type told struct {
	at                    int
	eventType, id         string
	subscription, product string
	from, until           int // the period; both 0: none
	more                  string
}

func (e told) body(now time.Time) string {
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.RFC3339) }
	period := ""
	if e.from != 0 || e.until != 0 {
		period = fmt.Sprintf(`,"current_period_start_date":%q,"current_period_end_date":%q`, day(e.from), day(e.until))
	}
	return fmt.Sprintf(`{"id":%q,"eventType":%q,"created_at":%q,"object":{"id":%q,"object":"subscription","product":%q,
		"metadata":{"user_id":"u1"}%s%s}}`, e.id, e.eventType, day(e.at), e.subscription, e.product, period, e.more)
}

// entitlements folds the events and reads what u1 is entitled to.
func entitlements(t *testing.T, bodies func(now time.Time) []string) []entitlement {
	t.Helper()
	return entitlementsBy(t, "provider", bodies)
}

func entitlementsBy(t *testing.T, provider string, bodies func(now time.Time) []string) []entitlement {
	t.Helper()
	ctx, s := fixture.Tables(t)
	return entitlementsUnder(ctx, t, s, entitling, provider, bodies)
}

func entitlementsUnder(ctx context.Context, t *testing.T, s *store.Store, products, provider string, bodies func(now time.Time) []string) []entitlement {
	t.Helper()
	sold, err := catalogue.Parse([]byte(products))
	require.NoError(t, err)
	rules := projections.Rules{Mode: projections.ModeAny, Catalogue: sold}
	fixture.Reset(ctx, t, s, rules)
	now := time.Now().UTC().Truncate(time.Second)
	var batch []events.Event
	for i, body := range bodies(now) {
		message := events.Message{Provider: provider, ID: fmt.Sprint("e", i), Seq: uint64(i + 1), Body: []byte(body), ReceivedAt: now}
		batch = append(batch, providers.Decode(message))
		require.False(t, batch[i].Unreadable, body)
	}
	advance := store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(batch))}
	_, err = live.Apply(ctx, s, rules, batch, advance)
	require.NoError(t, err)
	return readEntitlements(ctx, t, s, now)
}

func readEntitlements(ctx context.Context, t *testing.T, s *store.Store, now time.Time) []entitlement {
	t.Helper()
	rows, err := s.Pool().Query(ctx, `select product_key, kind, active, status, until, because_event_id
		from portal.entitlement where user_id = 'u1' order by product_key`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e entitlement, err error) {
		var until *time.Time
		err = row.Scan(&e.Product, &e.Kind, &e.Active, &e.Status, &until, &e.Because)
		if until != nil {
			e.Until = days(int(until.Sub(now).Round(24*time.Hour) / (24 * time.Hour)))
		}
		return e, err
	})
	require.NoError(t, err)
	return all
}

func TestASubscriptionEntitlesUntilItsPeriodEndsAndItsGrace(t *testing.T) {
	t.Parallel()
	paid := told{-20, "subscription.paid", "paid", "s1", "plan", -20, 10, `,"last_transaction_id":"t1"`}
	over := told{-32, "subscription.paid", "paid", "s1", "plan", -32, -2, `,"last_transaction_id":"t1"`}
	long := told{-40, "subscription.paid", "paid", "s1", "plan", -40, -10, `,"last_transaction_id":"t1"`}
	bare := told{-20, "subscription.paid", "paid", "s1", "plan", 0, 0, `,"last_transaction_id":"t1"`}
	then := func(eventType string, at int) told {
		return told{at, "subscription." + eventType, "then", "s1", "plan", 0, 0, ""}
	}
	of := func(active bool, status string, until *int, because string) []entitlement {
		return []entitlement{{"plan", "subscription", active, status, until, because}}
	}
	strict := over
	strict.product = "strict"
	for name, c := range map[string]struct {
		events []told
		want   []entitlement
	}{
		"active":                             {[]told{paid}, of(true, "active", days(10), "paid")},
		"active, without news, in its grace": {[]told{over}, of(true, "active", days(1), "paid")},
		"active, without news, after it":     {[]told{long}, of(false, "active", days(-7), "paid")},
		"active, without a period":           {[]told{bare}, of(true, "active", nil, "paid")},
		"without grace, after its period": {
			[]told{strict},
			[]entitlement{{"strict", "subscription", false, "active", days(-2), "paid"}},
		},
		"past due, in its grace": {
			[]told{over, then("past_due", -2)},
			of(true, "past_due", days(1), "then"),
		},
		"past due, after its grace": {
			[]told{long, then("past_due", -10)},
			of(false, "past_due", days(-7), "then"),
		},
		"past due, the next period has begun and is not paid, in its grace": {
			[]told{over, {-2, "subscription.past_due", "then", "s1", "plan", -2, 28, ""}},
			of(true, "past_due", days(1), "then"),
		},
		"past due, the next period has begun and is not paid, after its grace": {
			[]told{long, {-10, "subscription.past_due", "then", "s1", "plan", -10, 20, ""}},
			of(false, "past_due", days(-7), "then"),
		},
		"past due, without a period": {
			[]told{bare, then("past_due", -1)},
			of(true, "past_due", days(2), "then"),
		},
		"scheduled cancel": {
			[]told{paid, then("scheduled_cancel", -5)},
			of(true, "scheduled_cancel", days(10), "then"),
		},
		"scheduled cancel, after its period": {
			[]told{over, then("scheduled_cancel", -5)},
			of(false, "scheduled_cancel", days(-2), "then"),
		},
		"canceled": {
			[]told{paid, then("canceled", -5)},
			of(true, "canceled", days(10), "then"),
		},
		"canceled, after its period": {
			[]told{over, then("canceled", -5)},
			of(false, "canceled", days(-2), "then"),
		},
		"canceled, without a period": {
			[]told{bare, then("canceled", -5)},
			of(false, "canceled", days(-5), "then"),
		},
		"trialing": {
			[]told{{-3, "subscription.trialing", "then", "s1", "plan", -3, 4, ""}},
			of(true, "trialing", days(4), "then"),
		},
		"trialing, after its period": {
			[]told{{-9, "subscription.trialing", "then", "s1", "plan", -9, -1, ""}},
			of(false, "trialing", days(-1), "then"),
		},
		"paused": {
			[]told{paid, then("paused", -5)},
			of(false, "paused", days(-5), "then"),
		},
		"unpaid": {
			[]told{paid, then("unpaid", -5)},
			of(false, "unpaid", days(-5), "then"),
		},
		"expired": {
			[]told{paid, then("expired", -5)},
			of(false, "expired", days(-5), "then"),
		},
		"a provider's word that nobody knows": {
			[]told{paid, {-5, "subscription.update", "then", "s1", "plan", 0, 0, `,"status":"odd"`}},
			of(false, "odd", days(-5), "then"),
		},
		"a pack entitles to nothing": {
			[]told{{-1, "checkout.completed", "pack", "c1", "pack", 0, 0, `,"provider_payment_id":"t9"`}},
			[]entitlement{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, entitlements(t, func(now time.Time) (bodies []string) {
				for _, one := range c.events {
					bodies = append(bodies, one.body(now))
				}
				return bodies
			}))
		})
	}
}

func refund(id, payment string, at time.Time) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"refund.created","created_at":%q,"object":{"id":"r_%s","object":"refund",
		"status":"succeeded","transaction":{"id":%q}}}`, id, at.Format(time.RFC3339), id, payment)
}

func TestAFullRefundOfTheCurrentPeriodEndsAnEntitlement(t *testing.T) {
	t.Parallel()
	older := told{-40, "subscription.paid", "older", "s1", "plan", -40, -10, `,"last_transaction_id":"t1"`}
	newer := told{-10, "subscription.paid", "newer", "s1", "plan", -10, 20, `,"last_transaction_id":"t2"`}
	upgrade := told{-5, "subscription.paid", "upgrade", "s1", "plan", -10, 20, `,"last_transaction_id":"t3"`}
	fee := told{-10, "subscription.paid", "fee", "s1", "fee", -10, 20, `,"last_transaction_id":"t4"`}
	trial := told{-10, "subscription.trialing", "trial", "s1", "plan", -10, 20, ""}
	for name, c := range map[string]struct {
		events   []told
		refunded []string
		want     entitlement
	}{
		"of the current period": {
			[]told{older, newer},
			[]string{"t2"},
			entitlement{"plan", "subscription", false, "active", days(-1), "refund_t2"},
		},
		"of an earlier period": {
			[]told{older, newer},
			[]string{"t1"},
			entitlement{"plan", "subscription", true, "active", days(20), "newer"},
		},
		"of one of two payments": {
			[]told{newer, upgrade},
			[]string{"t3"},
			entitlement{"plan", "subscription", true, "active", days(20), "upgrade"},
		},
		"of both payments": {
			[]told{newer, upgrade},
			[]string{"t2", "t3"},
			entitlement{"plan", "subscription", false, "active", days(-1), "refund_t3"},
		},
		"of the plan and not of a fee": {
			[]told{fee, newer},
			[]string{"t2"},
			entitlement{"plan", "subscription", false, "active", days(-1), "refund_t2"},
		},
		"of a fee beside a trial": {
			[]told{trial, fee},
			[]string{"t4"},
			entitlement{"plan", "subscription", true, "trialing", days(20), "trial"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, []entitlement{c.want}, entitlements(t, func(now time.Time) (bodies []string) {
				for _, one := range c.events {
					bodies = append(bodies, one.body(now))
				}
				for i, payment := range c.refunded {
					at := now.Add(-24*time.Hour + time.Duration(i)*time.Second)
					bodies = append(bodies, refund("refund_"+payment, payment, at))
				}
				return bodies
			}))
		})
	}
}

// Two providers name the period of no payment. A refund of what the buyer paid for a change of plan leaves the plan.
func TestAFullRefundWherePaymentsHaveNoPeriod(t *testing.T) {
	t.Parallel()
	lemon := func(at time.Time, event, id, attributes string) string {
		return fmt.Sprintf(`{"meta":{"event_name":%q,"custom_data":{"user_id":"u1"}},"data":{"id":%q,"attributes":{"updated_at":%q,%s}}}`,
			event, id, at.Format(time.RFC3339), attributes)
	}
	dodo := func(at time.Time, event, data string) string {
		return fmt.Sprintf(`{"business_id":"b","type":%q,"timestamp":%q,"data":{"metadata":{"user_id":"u1"},%s}}`, event, at.Format(time.RFC3339), data)
	}
	type day = func(int) time.Time
	lives := map[string]func(day day) []string{
		"lemonsqueezy": func(day day) []string {
			of := func(variant, until int) string {
				return fmt.Sprintf(`"status":"active","order_id":1,"variant_id":%d,"renews_at":%q`, variant, day(until).Format(time.RFC3339))
			}
			invoice := func(reason string) string {
				return fmt.Sprintf(`"status":"paid","subscription_id":1,"total":900,"billing_reason":%q`, reason)
			}
			return []string{
				lemon(day(-40), "order_created", "1", `"status":"paid","total":900,"first_order_item":{"variant_id":1}`),
				lemon(day(-40), "subscription_created", "1", of(1, -10)),
				lemon(day(-10), "subscription_payment_success", "2", invoice("renewal")),
				lemon(day(-10), "subscription_updated", "1", of(1, 20)),
				lemon(day(-5), "subscription_payment_success", "3", invoice("updated")),
				lemon(day(-5), "subscription_updated", "1", of(2, 20)),
			}
		},
		"dodo": func(day day) []string {
			of := func(product string, from, until int) string {
				return fmt.Sprintf(`"subscription_id":"s1","status":"active","product_id":%q,"previous_billing_date":%q,"next_billing_date":%q`,
					product, day(from).Format(time.RFC3339), day(until).Format(time.RFC3339))
			}
			paid := func(id string) string {
				return fmt.Sprintf(`"subscription_id":"s1","status":"succeeded","total_amount":900,"payment_id":%q`, id)
			}
			return []string{
				dodo(day(-40), "subscription.active", of("plan", -40, -10)), dodo(day(-40), "payment.succeeded", paid("1")),
				dodo(day(-10).Add(-time.Minute), "payment.succeeded", paid("2")), dodo(day(-10), "subscription.renewed", of("plan", -10, 20)),
				dodo(day(-5), "subscription.plan_changed", of("strict", -10, 20)), dodo(day(-5), "payment.succeeded", paid("3")),
			}
		},
	}
	refunds := map[string]func(at time.Time, payment string) string{
		"lemonsqueezy": func(at time.Time, payment string) string {
			event, reason := "subscription_payment_refunded", "updated"
			if payment == "1" {
				event = "order_refunded"
			}
			return lemon(at, event, payment, fmt.Sprintf(`"status":"refunded","subscription_id":1,"total":900,"refunded_amount":900,"billing_reason":%q`, reason))
		},
		"dodo": func(at time.Time, payment string) string {
			return dodo(at, "refund.succeeded", fmt.Sprintf(`"refund_id":"r%s","payment_id":%[1]q,"status":"succeeded","amount":900`, payment))
		},
	}
	for provider, life := range lives {
		for name, c := range map[string]struct {
			refunded []string
			active   bool
		}{
			"none": {nil, true}, "the change of plan": {[]string{"3"}, true}, "the renewal": {[]string{"2"}, true},
			"both": {[]string{"3", "2"}, false}, "earlier ones": {[]string{"1"}, true}, "the change, and earlier ones": {[]string{"1", "3"}, true},
		} {
			bodies := func(now time.Time) []string {
				bodies := life(func(n int) time.Time { return now.AddDate(0, 0, n) })
				for i, payment := range c.refunded {
					bodies = append(bodies, refunds[provider](now.Add(time.Duration(i-10)*time.Minute), payment))
				}
				return bodies
			}
			t.Run(provider+", "+name, func(t *testing.T) {
				t.Parallel()
				got := entitlementsBy(t, provider, bodies)
				require.Len(t, got, 1)
				require.Equal(t, c.active, got[0].Active, got)
			})
			t.Run(provider+", a licence, "+name, func(t *testing.T) {
				t.Parallel()
				ctx, s := fixture.Tables(t)
				got := entitlementsUnder(ctx, t, s, strings.ReplaceAll(entitling, "kind: subscription", "kind: pro, lasts: subscription"), provider, bodies)
				isActive := func(e entitlement) bool { return e.Active } // the plan before the change, or the one after it
				require.Equal(t, c.active, slices.ContainsFunc(got, isActive), got)
				var license string
				require.NoError(t, s.Pool().QueryRow(ctx, "select status from portal.pro_license").Scan(&license))
				require.Equal(t, c.active, license == "active", got)
			})
		}
	}
}

// A change from months to years pays only for a part, and begins a period of its own. If the shop moves the end of a period,
// it stays the same period: what was paid before for it counts, and what is paid for a change until the new end.
func TestAFullRefundOfAPeriodThatWasChanged(t *testing.T) {
	t.Parallel()
	polar := func(at time.Time, kind, data string) string {
		return fmt.Sprintf(`{"type":%q,"timestamp":%q,"data":{%s}}`, kind, at.Format(time.RFC3339), data)
	}
	for name, c := range map[string]struct {
		from, until int // the period after the change
		changes     bool
		refunded    []string
		active      bool
	}{
		"to a year, the month":              {-5, 360, true, []string{"o1"}, true},
		"to a year, the year":               {-5, 360, true, []string{"o2"}, false},
		"moved, and the change":             {-10, 35, true, []string{"o2"}, true},
		"moved, and what was paid before":   {-10, 35, true, []string{"o1"}, true},
		"moved, and both":                   {-10, 35, true, []string{"o1", "o2"}, false},
		"moved, and nothing was paid since": {-10, 35, false, []string{"o1"}, false},
		"moved twice, the first change":     {-10, 50, true, []string{"o1"}, true},
		"moved twice, and both":             {-10, 50, true, []string{"o1", "o2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.active, entitlementsBy(t, "polar", func(now time.Time) (bodies []string) {
				day := func(n int) time.Time { return now.AddDate(0, 0, n) }
				period := func(from, until int) string {
					return fmt.Sprintf(`"status":"active","current_period_start":%q,"current_period_end":%q`, day(from).Format(time.RFC3339), day(until).Format(time.RFC3339))
				}
				order := func(id, reason, period string) string {
					return fmt.Sprintf(`"id":%q,"status":"paid","billing_reason":%q,"total_amount":900,"currency":"usd","product_id":"plan","metadata":{"user_id":"u1"},
						"subscription_id":"s1","subscription":{"id":"s1",%s}`, id, reason, period)
				}
				bodies = append(bodies, polar(day(-10), "order.paid", order("o1", "subscription_create", period(-10, 20))),
					polar(day(-5), "subscription.updated", `"id":"s1","product_id":"plan",`+period(c.from, c.until)))
				paidUntil := c.until
				if strings.HasPrefix(name, "moved twice") { // the end as it was then
					paidUntil = 35
				}
				if c.changes {
					bodies = append(bodies, polar(day(-5), "order.paid", order("o2", "subscription_update", period(c.from, paidUntil))))
				}
				for _, payment := range c.refunded {
					bodies = append(bodies, polar(day(-1), "order.refunded", fmt.Sprintf(`"id":%q,"refunded_amount":900,"refunded_tax_amount":0,"total_amount":900`, payment)))
				}
				return bodies
			})[0].Active)
		})
	}
}

// What was given back pays for nothing, whatever the provider says of the subscription then. The next period is another one.
func TestASubscriptionThatBeginsAgainAfterAFullRefundEntitlesFromItsNextPeriodOn(t *testing.T) {
	t.Parallel()
	polar := func(at time.Time, kind, data string) string {
		return fmt.Sprintf(`{"type":%q,"timestamp":%q,"data":{%s}}`, kind, at.Format(time.RFC3339), data)
	}
	for name, c := range map[string]struct {
		again       string
		first       int // the end of the period that was refunded
		from, until int // the period then
		active      bool
	}{
		"uncanceled in its period": {"subscription.uncanceled", 10, -20, 10, false},
		"reinstated in its period": {"subscription.active", 10, -20, 10, false},
		"reinstated in the next":   {"subscription.active", -2, -2, 28, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.active, entitlementsBy(t, "polar", func(now time.Time) []string {
				day := func(n int) string { return now.AddDate(0, 0, n).Format(time.RFC3339) }
				of := func(status string, from, until int) string {
					return fmt.Sprintf(`"id":"s1","product_id":"plan","status":%q,"current_period_start":%q,"current_period_end":%q`, status, day(from), day(until))
				}
				then := now.AddDate(0, 0, -1)
				return []string{
					polar(now.AddDate(0, 0, -20), "order.paid", `"id":"o1","status":"paid","billing_reason":"subscription_create","total_amount":900,"currency":"usd",
						"product_id":"plan","metadata":{"user_id":"u1"},"subscription_id":"s1","subscription":{`+of("active", -20, c.first)+`}`),
					polar(then, "order.refunded", `"id":"o1","refunded_amount":900,"refunded_tax_amount":0,"total_amount":900`),
					polar(then, "subscription.revoked", of("canceled", -20, c.first)),
					polar(now, c.again, of("active", c.from, c.until)),
				}
			})[0].Active)
		})
	}
}

// The shop extends a period, and its payment is wholly refunded, before that or after it.
func TestAnExtensionDoesNotOutliveAFullRefund(t *testing.T) {
	t.Parallel()
	for _, refunded := range []int{-4, -2} {
		require.Equal(t, []entitlement{{"plan", "subscription", false, "active", days(refunded), "e3"}}, entitlementsBy(t, "payfold", func(now time.Time) []string {
			own := func(id, kind string, at int, values string) string {
				return fmt.Sprintf(`{"id":%q,"type":%q,"time":%q,%s}`, id, kind, now.AddDate(0, 0, at).Format(time.RFC3339), values)
			}
			day := func(n int) string { return now.AddDate(0, 0, n).Format(time.RFC3339) }
			return []string{
				own("e1", "payment", -10, fmt.Sprintf(`"user":"u1","subscription":"s1","payment":"t1","product":"plan","amount":900,"currency":"EUR",
					"period_start":%q,"period_end":%q`, day(-10), day(20))),
				own("e2", "subscription", -3, fmt.Sprintf(`"user":"u1","subscription":"s1","extended_until":%q`, day(30))),
				own("e3", "reversal", refunded, `"payment":"t1"`),
			}
		}), refunded)
	}
}

func TestALicenceEntitlesForEverOrWithItsSubscription(t *testing.T) {
	t.Parallel()
	tool := told{-400, "checkout.completed", "tool", "c1", "tool", 0, 0, `,"provider_payment_id":"t1"`}
	monthly := told{-32, "subscription.paid", "monthly", "s1", "tool_monthly", -32, -2, `,"last_transaction_id":"t2"`}
	again := told{-2, "subscription.paid", "again", "s1", "tool_monthly", -2, 28, `,"last_transaction_id":"t3"`}
	then := func(eventType string, at int) told {
		return told{at, "subscription." + eventType, "then", "s1", "tool_monthly", 0, 0, ""}
	}
	for name, c := range map[string]struct {
		events   []told
		refunded []string
		want     entitlement
	}{
		"for ever": {[]told{tool}, nil, entitlement{"tool", "pro", true, "active", nil, "tool"}},
		"refunded": {
			[]told{tool},
			[]string{"t1"},
			entitlement{"tool", "pro", false, "revoked", days(-1), "refund_t1"},
		},
		"with its subscription, grace": {
			[]told{monthly},
			nil,
			entitlement{"tool_monthly", "pro", true, "active", days(1), "monthly"},
		},
		"after its subscription": {
			[]told{monthly, then("canceled", -2)},
			nil,
			entitlement{"tool_monthly", "pro", false, "revoked", days(-2), "then"},
		},
		"a month is refunded": {
			[]told{monthly, again},
			[]string{"t3"},
			entitlement{"tool_monthly", "pro", false, "revoked", days(-1), "refund_t3"},
		},
		"an older month is refunded": {
			[]told{monthly, again},
			[]string{"t2"},
			entitlement{"tool_monthly", "pro", true, "active", days(28), "again"},
		},
		"while its subscription pauses": {
			[]told{monthly, then("paused", -3)},
			nil,
			entitlement{"tool_monthly", "pro", false, "active", days(-3), "then"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, []entitlement{c.want}, entitlements(t, func(now time.Time) (bodies []string) {
				for _, one := range c.events {
					bodies = append(bodies, one.body(now))
				}
				for _, payment := range c.refunded {
					bodies = append(bodies, refund("refund_"+payment, payment, now.Add(-24*time.Hour)))
				}
				return bodies
			}))
		})
	}
}

// Each product has its row, of all subscriptions of the user, and of two the one that gives more.
func TestOfTwoRightsToAProductTheOneThatGivesMoreCounts(t *testing.T) {
	t.Parallel()
	events := []told{
		{-40, "subscription.paid", "ended", "s1", "plan", -40, -10, `,"last_transaction_id":"t1"`},
		{-20, "subscription.paid", "longer", "s2", "plan", -20, 10, `,"last_transaction_id":"t2"`},
		{-10, "subscription.paid", "shorter", "s3", "plan", -10, 5, `,"last_transaction_id":"t3"`},
		{-10, "subscription.paid", "other", "s4", "strict", -10, 5, `,"last_transaction_id":"t4"`},
		{-10, "checkout.completed", "tool", "c1", "tool", 0, 0, `,"provider_payment_id":"t5"`},
	}
	require.Equal(t, []entitlement{
		{"plan", "subscription", true, "active", days(10), "longer"},
		{"strict", "subscription", true, "active", days(5), "other"},
		{"tool", "pro", true, "active", nil, "tool"},
	}, entitlements(t, func(now time.Time) (bodies []string) {
		for _, one := range events {
			bodies = append(bodies, one.body(now))
		}
		return bodies
	}))
}
