package providers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// Each provider's change of plan, as the scenarios have it: the payment of the change is prorated, and no other is.
func TestThePaymentOfAChangeOfPlanIsProrated(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]map[string]string{
		"stripe/upgrade.json":       {"in_1TUpgrupgradeRRixmiE64QZ": "2026-03-16T10:00:00Z to 2026-04-01T10:00:00Z"},
		"stripe/upgrade-2024.json":  {"pi_1T3UpgrupgradeWuMTBEVeAn": "2026-03-16T10:00:00Z to 2026-04-01T10:00:00Z"},
		"stripe/downgrade.json":     {},
		"stripe/renewal.json":       {},
		"paddle/upgrade.json":       {"txn_01kupgradeup00000000000000": "2026-03-16T22:00:41.123456Z to 2026-04-01T10:00:41.123456Z"},
		"paddle/addon.json":         {},
		"paddle/renewal.json":       {},
		"polar/upgrade.json":        {"13869206-4e49-4429-84ff-cc79716abc79": "2026-03-01T10:00:50.123456Z to 2026-04-01T10:00:50.123456Z"},
		"polar/seats.json":          {"5b1f0c1e-7a3d-4b39-9d53-0f7f6a3c2e10": "2026-03-01T10:00:50.123456Z to 2026-04-01T10:00:50.123456Z"},
		"polar/renewal.json":        {},
		"lemonsqueezy/renewal.json": {},
		"dodo/seats.json":           {},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata/scenarios", file))
			require.NoError(t, err)
			var life struct {
				Events []struct{ Body json.RawMessage }
			}
			require.NoError(t, json.Unmarshal(text, &life))
			name, _, _ := strings.Cut(file, "/")
			got, payments := map[string]string{}, 0
			for _, one := range life.Events {
				event, err := Named(name).Parse(one.Body, "msg_1")
				require.NoError(t, err)
				if event.Action == events.Payment {
					payments++
				}
				if event.Prorated {
					got[event.PaymentID()] = event.PeriodStart.Format(time.RFC3339Nano) + " to " + event.PeriodEnd.Format(time.RFC3339Nano)
				}
			}
			require.Positive(t, payments)
			require.Equal(t, want, got)
		})
	}
}

func TestAnInvoiceOfPartsHasThePeriodOfThePartThatEndsLast(t *testing.T) {
	t.Parallel()
	line := func(amount, start, end int, prorated bool) map[string]any {
		return map[string]any{
			"amount": amount, "proration": prorated, "price": map[string]any{"id": "price_1", "product": "prod_1"},
			"period": map[string]any{"start": start, "end": end},
		}
	}
	const first, second, third = 1772359200, 1775037600, 1777629600
	credit, part, longPart := line(-900, first, third, true), line(1500, first, second, true), line(100, second, third,
		true)
	whole := line(1900, first, second, false)
	for name, c := range map[string]struct {
		lines      []any
		prorated   bool
		start, end int64
	}{
		"one part":               {[]any{credit, part}, true, first, second},
		"several parts":          {[]any{credit, longPart, part}, true, second, third},
		"a whole one beside":     {[]any{credit, longPart, whole}, false, first, second},
		"a whole one":            {[]any{whole}, false, first, second},
		"only credit":            {[]any{credit}, false, 0, 0},
		"one without a product":  {[]any{map[string]any{"amount": 5}, part}, true, first, second},
		"only without a product": {[]any{map[string]any{"amount": 5, "proration": true}}, false, 0, 0},
		"nothing":                {nil, false, 0, 0},
	} {
		e := eventOf(t, stripe, "invoice.paid", map[string]any{
			"data.object.subscription": "sub_1", "data.object.lines.data": c.lines, "data.object.amount_paid": 600,
		})
		require.Equal(t, c.prorated, e.Prorated, name)
		if c.start == 0 {
			require.True(t, e.PeriodStart.IsZero() && e.PeriodEnd.IsZero(), name)
			continue
		}
		require.Equal(t, []int64{c.start, c.end}, []int64{e.PeriodStart.Unix(), e.PeriodEnd.Unix()}, name)
	}
}

func TestPaddleChangeOfPlanIsForTheRestOfThePeriod(t *testing.T) {
	t.Parallel()
	part := func(price, quantity, end string) string {
		return strings.Replace(paddleItem(price, "1500", "null", quantity), `"proration":null`,
			`"proration":{"rate":"0.5","billing_period":{"starts_at":"2026-03-16T10:00:00Z","ends_at":"`+end+`"}}`, 1)
	}
	const own = `"id":"txn_1","status":"completed","subscription_id":"sub_1","currency_code":"EUR","origin":"subscription_update"`
	items := `"items":[` + part("pri_old", "-1", "2027-01-01T00:00:00Z") + "," + part("pri_new", "1",
		"2026-04-01T10:00:00Z") + `]`
	rest := `"billing_period":{"starts_at":"2026-03-16T10:00:00Z","ends_at":"2026-04-01T10:00:00Z"}`
	for _, billing := range []string{rest, `"billing_period":null`} {
		e := paddleEvent(t, "transaction.completed", own, billing, paddleTotal("-900"), items)
		require.Equal(t, events.Number{Present: true}, e.Amount)
		require.Equal(t, []time.Time{at("2026-03-16T10:00:00Z"), at("2026-04-01T10:00:00Z")}, []time.Time{
			e.PeriodStart,
			e.PeriodEnd,
		})
		require.True(t, e.Prorated)
		require.Len(t, e.Items, 1)
		require.Equal(t, []any{"pri_new", true}, []any{e.Items[0].Price, e.Items[0].Prorated})
	}
	whole := paddleEvent(t, "transaction.completed", own, rest, paddleTotal("900"),
		`"items":[`+part("pri_old", "-1", "2026-04-01T10:00:00Z")+","+paddleItem("pri_yearly", "15000", "null", "1")+`]`)
	require.False(t, whole.Prorated, "another billing cycle begins")
}

func TestTheBillingReasonSaysThatAPaymentIsProrated(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{
		"subscription_update": true, "subscription_cycle": false,
		"subscription_create": false, "purchase": false,
	} {
		e := eventOf(t, polar, "order.paid", map[string]any{
			"data.billing_reason": reason, "data.total_amount": 900,
			"data.subscription.current_period_end": "2026-04-01T10:00:00Z",
		})
		require.Equal(t, want, e.Prorated, reason)
		require.Equal(t, at("2026-04-01T10:00:00Z"), e.PeriodEnd, reason)
	}
	for reason, want := range map[string]bool{"updated": true, "renewal": false, "initial": false} {
		for _, eventType := range []string{"subscription_payment_success", "subscription_payment_recovered"} {
			e := eventOf(t, lemonSqueezy, eventType, map[string]any{"data.id": "9", "data.attributes.billing_reason": reason})
			require.Equal(t, want, e.Prorated, reason)
		}
	}
}
