package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestLemonSqueezySignature(t *testing.T) {
	t.Parallel()
	const (
		body      = `{"meta":{"event_name":"order_created"}}`
		signature = "bb5e21fccbdbccc14856e20232d67360c26d849518b8246bd97cd3374de903bf"
	)
	secret, err := lemonSqueezy.NewSecret("payfold-test-secret")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		header http.Header
		want   error
	}{
		"as Lemon Squeezy writes it": {http.Header{"X-Signature": {signature}}, nil},
		"upper case":                 {http.Header{"X-Signature": {strings.ToUpper(signature)}}, nil},
		"another signature":          {http.Header{"X-Signature": {strings.Repeat("0", 64)}}, ErrSignature},
		"a short signature":          {http.Header{"X-Signature": {signature[:62]}}, ErrSignature},
		"not hexadecimal":            {http.Header{"X-Signature": {"x" + signature[1:]}}, ErrSignature},
		"empty":                      {http.Header{"X-Signature": {""}}, ErrSignature},
		"in another header":          {http.Header{"Provider-Signature": {signature}}, ErrNoSignature},
		"none":                       {http.Header{"X-Event-Name": {"order_created"}}, ErrNoSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := lemonSqueezy.Verify(c.header, []byte(body), []Secret{secret}, time.Time{})
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				require.Equal(t, Signature{Text: signature, KeyFingerprint: secret.Fingerprint()}, found)
			}
		})
	}
	_, err = lemonSqueezy.Verify(http.Header{"X-Signature": {signature}}, []byte(body+" "), []Secret{secret}, time.Time{})
	require.ErrorIs(t, err, ErrSignature)
}

func lemonEvent(t *testing.T, eventType, id, attributes string) events.Event {
	t.Helper()
	body := `{"meta":{"event_name":"` + eventType + `"},"data":{"id":` + id + `,"attributes":{` + attributes + `}}}`
	event, err := lemonSqueezy.Parse([]byte(body), "ignored")
	require.NoError(t, err)
	require.Equal(t, hashID([]byte(body)), event.ID)
	return event
}

func TestLemonSqueezyEveryIDHasAPrefix(t *testing.T) {
	t.Parallel()
	order := lemonEvent(t, "order_created", `"17"`,
		`"customer_id":3,"first_order_item":{"product_id":1234,"variant_id":"55","quantity":2}`)
	require.Equal(t, "lemonsqueezy:order:17", order.Transaction)
	require.Empty(t, order.Order)
	require.Equal(t, "lemonsqueezy:variant:55", order.Product)
	require.Equal(t, "lemonsqueezy:product:1234", order.Items[0].Product)
	require.Equal(t, "lemonsqueezy:customer:3", order.Key)
	require.Equal(t, number(2), order.Units)

	none := lemonEvent(t, "order_created", `null`, `"customer_id":"","first_order_item":{"variant_id":null}`)
	require.Empty(t, none.Transaction)
	require.Empty(t, none.Product)
	require.Empty(t, none.Items[0].Product)
}

func TestLemonSqueezyEventsOfAFirstPaymentShareItsNames(t *testing.T) {
	t.Parallel()
	const first = "lemonsqueezy:subscription:5:initial"
	for _, eventType := range []string{"subscription_created", "subscription_updated", "subscription_expired"} {
		event := lemonEvent(t, eventType, `"5"`, `"order_id":17,"status":"active"`)
		require.Equal(t, []string{"lemonsqueezy:subscription:5", "lemonsqueezy:order:17", first},
			[]string{event.SubscriptionID, event.Transaction, event.Order})
	}
	for _, eventType := range []string{
		"subscription_payment_success", "subscription_payment_recovered", "subscription_payment_refunded",
	} {
		for reason, want := range map[string][]string{
			"initial": {"", first},
			"renewal": {"lemonsqueezy:subscription-invoice:9", ""},
			"updated": {"lemonsqueezy:subscription-invoice:9", ""},
		} {
			event := lemonEvent(t, eventType, `"9"`, `"subscription_id":5,"billing_reason":"`+reason+`"`)
			require.Equal(t, "lemonsqueezy:subscription:5", event.SubscriptionID)
			require.Equal(t, want, []string{event.Transaction, event.Order}, reason)
		}
	}
}

func TestLemonSqueezyTimeIsTheNewest(t *testing.T) {
	t.Parallel()
	const first, second, third = `"2026-03-01T10:00:00.000000Z"`, `"2026-03-02T10:00:00Z"`, `"2026-03-03T10:00:00Z"`
	for attributes, want := range map[string]string{
		`"updated_at":` + first: first,
		`"updated_at":` + first + `,"first_order_item":{"updated_at":` + second + `}`:                              second,
		`"updated_at":` + third + `,"first_order_item":{"updated_at":` + second + `}`:                              third,
		`"updated_at":"2026-03-02T11:59:59+02:00","first_subscription_item":{"updated_at":` + second + `}`:         second,
		`"updated_at":` + first + `,"first_subscription_item":{"updated_at":"soon"},"refunded_at":` + third:        first,
		`"updated_at":null,"first_order_item":null,"first_subscription_item":{"updated_at":` + second + `,"x":[]}`: second,
	} {
		event := lemonEvent(t, "order_created", `"1"`, attributes)
		require.Equal(t, at(strings.Trim(want, `"`)), event.OccurredAt, attributes)
	}
	require.Zero(t, lemonEvent(t, "order_created", `"1"`, `"created_at":"2026-03-01T10:00:00Z"`).OccurredAt)
}

func TestLemonSqueezyOrderOrInvoiceIsPaid(t *testing.T) {
	t.Parallel()
	for status, unpaid := range map[string]bool{
		`"paid"`: false, `"refunded"`: false, `"partial_refund"`: false, `null`: false,
		`"pending"`: true, `"failed"`: true, `"fraudulent"`: true, `"void"`: true,
	} {
		for _, eventType := range []string{
			"order_created", "subscription_payment_success", "subscription_payment_recovered",
		} {
			event := lemonEvent(t, eventType, `"1"`, `"status":`+status)
			require.Equal(t, unpaid, event.Unpaid, status)
			require.Equal(t, events.Payment, event.Action)
		}
	}
	require.Equal(t, events.None, lemonEvent(t, "subscription_payment_failed", `"1"`, `"status":"pending"`).Action)
}

// Its subtotal is below 0 after a downgrade: what is left is used for later invoices.
func TestLemonSqueezyInvoiceThatOnlyGivesCreditSellsNothing(t *testing.T) {
	t.Parallel()
	for attributes, want := range map[string]events.Action{
		`"billing_reason":"updated","subtotal":-8498,"total":0`: events.None,
		`"billing_reason":"updated","subtotal":0,"total":0`:     events.None,
		`"billing_reason":"updated","subtotal":1500,"total":0`:  events.Payment, // by a discount
		`"billing_reason":"updated","total":1500`:               events.Payment,
		`"billing_reason":"renewal","subtotal":-100,"total":0`:  events.Payment, // by the credit of a downgrade
		`"billing_reason":"initial","subtotal":0,"total":0`:     events.Payment, // a trial
	} {
		event := lemonEvent(t, "subscription_payment_success", `"9"`, `"status":"paid","subscription_id":5,`+attributes)
		require.Equal(t, want, event.Action, attributes)
	}
}

func TestLemonSqueezySubscriptionHasTheStatusOfItsBody(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"on_trial": events.Trialing, "active": events.Active, "paused": events.Paused, "past_due": events.PastDue,
		"unpaid": events.Unpaid, "cancelled": events.ScheduledCancel, "expired": events.Expired,
	} {
		for _, eventType := range []string{"subscription_created", "subscription_updated", "subscription_cancelled"} {
			require.Equal(t, want, lemonEvent(t, eventType, `"5"`, `"status":"`+status+`"`).Status)
		}
	}
	const free = `"renews_at":"2026-04-01T10:00:00Z","pause":{"mode":"free","resumes_at":`
	for attributes, want := range map[string]struct{ status, until string }{
		`"status":"paused",` + free + `null}`:                         {events.Active, "2026-04-01T10:00:00Z"},
		`"status":"paused",` + free + `"2026-06-01T10:00:00Z"}`:       {events.Active, "2026-06-01T10:00:00Z"},
		`"status":"paused",` + free + `"2026-03-20T10:00:00Z"}`:       {events.Active, "2026-04-01T10:00:00Z"},
		`"status":"cancelled",` + free + `"2026-06-01T10:00:00Z"}`:    {events.ScheduledCancel, "2026-04-01T10:00:00Z"},
		`"status":"paused","pause":{"mode":"void","resumes_at":null}`: {events.Paused, ""},
		`"status":"paused","pause":null`:                              {events.Paused, ""},
	} {
		event := lemonEvent(t, "subscription_paused", `"5"`, attributes)
		require.Equal(t, want.status, event.Status, attributes)
		if want.until != "" {
			require.Equal(t, at(want.until), event.PeriodEnd, attributes)
		}
	}
	for status, known := range map[string]bool{"active": true, "on_trial": true, "past_due": false, "unpaid": false} {
		event := lemonEvent(t, "subscription_updated", `"5"`, `"status":"`+status+`","renews_at":"2026-04-01T10:00:00Z"`)
		require.Equal(t, known, !event.PeriodEnd.IsZero(), "%s: until when it is paid, and not when it is charged again", status)
	}
	const cancelled = `"status":"cancelled","renews_at":"2026-04-01T10:00:00Z","ends_at":"2026-03-20T10:00:00Z"`
	require.Equal(t, at("2026-03-20T10:00:00Z"), lemonEvent(t, "subscription_cancelled", `"5"`, cancelled).PeriodEnd)
}

func TestLemonSqueezyQuantityOfUsageBasedBillingIsNotUsed(t *testing.T) {
	t.Parallel()
	for quantity, want := range map[string]events.Number{
		`0`: {}, `null`: {}, `4`: number(4), `0.5`: {Present: true, Bad: true},
	} {
		event := lemonEvent(t, "subscription_created", `"5"`, `"first_subscription_item":{"quantity":`+quantity+`}`)
		require.Equal(t, want, event.Units, quantity)
	}
}

func TestLemonSqueezyRefundSaysWhatWasRefundedInAll(t *testing.T) {
	t.Parallel()
	for _, eventType := range []string{"order_refunded", "subscription_payment_refunded"} {
		event := lemonEvent(t, eventType, `"17"`, `"total":1900,"refunded_amount":950,"status":"partial_refund"`)
		require.Equal(t, events.Reversal{
			Cause: events.Refund, Status: events.Succeeded, Total: number(950), Paid: number(1900),
		}, event.Reversal)
		old := lemonEvent(t, eventType, `"17"`, `"total":1900,"refunded":true`)
		require.False(t, old.Reversal.Total.Present, "an older body means all of it")
		require.False(t, old.Unpaid)
	}
}

func TestLemonSqueezyMode(t *testing.T) {
	t.Parallel()
	for attributes, want := range map[string]events.Mode{
		`"test_mode":true`: events.Test, `"test_mode":false`: events.Live, `"test_mode":null`: "",
	} {
		require.Equal(t, want, lemonEvent(t, "order_created", `"1"`, attributes).Mode)
	}
}

func TestATextThatNoTableCanStoreIsNoProductOfLemonSqueezy(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"\u0000"`, `"\ud800"`, `"` + strings.Repeat("x", MaxText) + `"`} {
		event := lemonEvent(t, "order_created", `"1"`, `"first_order_item":{"product_id":`+id+`,"variant_id":`+id+`}`)
		require.Equal(t, []events.Item{{}}, event.Items)
	}
}
