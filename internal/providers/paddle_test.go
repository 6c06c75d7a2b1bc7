package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// The vector is one of the tests of Paddle's library for Go.
const (
	paddleVectorSecret = "VALID_SECRET"
	paddleVectorBody   = `{"data": "value"}`
	paddleVectorHex    = "28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261"
)

var paddleVectorTime = time.Unix(1698796800, 0)

func TestPaddleSignature(t *testing.T) {
	t.Parallel()
	const ts, h1 = "ts=1698796800", "h1=" + paddleVectorHex
	other := "h1=" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		header string
		want   error
	}{
		"as Paddle writes it":         {ts + ";" + h1, nil},
		"a second secret after it":    {ts + ";" + h1 + ";" + other, nil},
		"a second secret before it":   {ts + ";" + other + ";" + h1, nil},
		"twice, and another scheme":   {ts + ";" + h1 + ";" + h1 + ";h2=RANDOM_HASH", nil},
		"the signature first":         {h1 + ";" + ts, nil},
		"a space after the mark":      {ts + "; " + h1, nil},
		"empty":                       {"", ErrSignature},
		"only a time":                 {ts, ErrSignature},
		"only a signature":            {h1, ErrSignature},
		"two times":                   {ts + ";" + ts + ";" + h1, ErrSignature},
		"another time":                {"ts=1698796801;" + h1, ErrSignature},
		"the same time, longer":       {"ts=01698796800;" + h1, ErrSignature},
		"a time with a point":         {"ts=1698796800.0;" + h1, ErrSignature},
		"another signature":           {ts + ";" + other, ErrSignature},
		"only another scheme":         {ts + ";h2=" + paddleVectorHex, ErrSignature},
		"a short signature":           {ts + ";" + h1[:len(h1)-2], ErrSignature},
		"only the hex":                {paddleVectorHex, ErrSignature},
		"nine signatures":             {ts + strings.Repeat(";"+h1, 9), ErrSignature},
		"the names of Stripe":         {"t=1698796800,v1=" + paddleVectorHex, ErrSignature},
		"separated by commas":         {ts + "," + h1, ErrSignature},
		"the keys in capital letters": {"TS=1698796800;H1=" + paddleVectorHex, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Paddle-Signature": {c.header}}
			found, err := verifyPaddle(t, paddleVectorSecret, header, paddleVectorBody, paddleVectorTime)
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				require.Equal(t, []string{"", paddleVectorHex, "1698796800"}, []string{found.EventID, found.Text, found.Signed})
			}
		})
	}
}

func TestPaddleSignsTheBodyAndTheTime(t *testing.T) {
	t.Parallel()
	header := http.Header{"Paddle-Signature": {"ts=1698796800;h1=" + paddleVectorHex}}
	for late, want := range map[time.Duration]error{
		0: nil, Tolerance: nil, -Tolerance: nil,
		Tolerance + time.Second: ErrTimestamp, -Tolerance - time.Second: ErrTimestamp,
	} {
		_, err := verifyPaddle(t, paddleVectorSecret, header, paddleVectorBody, paddleVectorTime.Add(late))
		require.ErrorIs(t, err, want, late)
	}
	_, err := verifyPaddle(t, paddleVectorSecret, header, paddleVectorBody+"\n", paddleVectorTime)
	require.ErrorIs(t, err, ErrSignature)
	_, err = verifyPaddle(t, "another", header, paddleVectorBody, paddleVectorTime)
	require.ErrorIs(t, err, ErrSignature)
	_, err = verifyPaddle(t, paddleVectorSecret, http.Header{}, paddleVectorBody, paddleVectorTime)
	require.ErrorIs(t, err, ErrNoSignature)
	twice := http.Header{"Paddle-Signature": {header["Paddle-Signature"][0], header["Paddle-Signature"][0]}}
	_, err = verifyPaddle(t, paddleVectorSecret, twice, paddleVectorBody, paddleVectorTime)
	require.ErrorIs(t, err, ErrSignature)

	// Another vector of the same tests.
	const other = "a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9"
	header = http.Header{"Paddle-Signature": {"ts=1698796800;h1=" + other}}
	_, err = verifyPaddle(t, paddleVectorSecret, header, `{"data": ["1", "2"]}`, paddleVectorTime)
	require.NoError(t, err)
}

func verifyPaddle(t *testing.T, secret string, header http.Header, body string, now time.Time) (Signature, error) {
	t.Helper()
	of, err := paddle.NewSecret(secret)
	require.NoError(t, err)
	return paddle.Verify(header, []byte(body), []Secret{of}, now)
}

func paddleEvent(t *testing.T, eventType string, fields ...string) events.Event {
	t.Helper()
	body := `{"event_id":"evt_1","event_type":"` + eventType + `","occurred_at":"2026-03-01T10:00:00.123456Z","data":{` +
		strings.Join(fields, ",") + `}}`
	event, err := paddle.Parse([]byte(body), "")
	require.NoError(t, err, body)
	return event
}

const (
	paddleTransaction = `"id":"txn_1","status":"completed","subscription_id":"sub_1","currency_code":"EUR",` +
		`"billing_period":{"starts_at":"2026-03-01T10:00:00Z","ends_at":"2026-04-01T10:00:00Z"}`
	paddleTrialPeriod = `{"interval":"day","frequency":14}`
)

func paddleTotal(amount string) string {
	return `"details":{"totals":{"total":"77","grand_total":"` + amount +
		`","currency_code":"EUR"},"payout_totals":{"grand_total":"99"}}`
}

func paddleItem(price, amount, trial, quantity string) string {
	return `{"price":{"id":"` + price + `","product_id":"pro_1","unit_price":{"amount":"` + amount +
		`"},"trial_period":` + trial +
		`},"quantity":` + quantity + `,"proration":null}`
}

func TestPaddleTrialIsAFirstPaymentOfNothing(t *testing.T) {
	t.Parallel()
	plan, trial := paddleItem("pri_plan", "1500", "null", "1"), paddleItem("pri_plan", "1500", paddleTrialPeriod, "1")
	for name, c := range map[string]struct {
		origin, total, items string
		trial                bool
	}{
		"a trial from a checkout":       {"web", "0", trial, true},
		"a trial by the API":            {"api", "0", trial, true},
		"a trial beside a free thing":   {"web", "0", paddleItem("pri_gift", "0", "null", "1") + "," + trial, true},
		"a discount of everything":      {"web", "0", plan, false},
		"a free plan":                   {"web", "0", paddleItem("pri_free", "0", "null", "1"), false},
		"a renewal after a trial":       {"subscription_recurring", "1800", trial, false},
		"a free renewal after a trial":  {"subscription_recurring", "0", trial, false},
		"a trial that costs something":  {"web", "100", trial, false},
		"a trial and a fee to begin it": {"web", "600", trial + "," + paddleItem("pri_fee", "500", "null", "1"), false},
	} {
		e := paddleEvent(t, "transaction.completed", paddleTransaction, `"origin":"`+c.origin+`"`, paddleTotal(c.total),
			`"items":[`+c.items+`]`)
		require.Equal(t, []any{events.Payment, c.trial, "txn_1"}, []any{e.Action, e.Trial, e.Transaction}, name)
	}

	// So only the fee is what was bought, although the plan has the higher price.
	e := paddleEvent(t, "transaction.completed", paddleTransaction, `"origin":"web"`, paddleTotal("600"),
		`"items":[`+trial+","+paddleItem("pri_fee", "500", "null", "1")+`]`)
	require.Len(t, e.Items, 1)
	require.Equal(t, "pri_fee", e.Items[0].Price)
}

func TestPaddleTransactionIsAPaymentOnlyWhenItIsCompleted(t *testing.T) {
	t.Parallel()
	item := paddleItem("pri_plan", "1500", "null", "2")
	e := paddleEvent(t, "transaction.completed", paddleTransaction, `"origin":"subscription_recurring"`,
		paddleTotal("3600"), `"items":[`+item+`]`)
	require.Equal(t, []any{events.Payment, int64(3600), "EUR", "sub_1", events.AnyMode},
		[]any{e.Action, e.Amount.Value, e.Currency, e.SubscriptionID, e.Mode})
	require.Equal(t, []time.Time{at("2026-03-01T10:00:00Z"), at("2026-04-01T10:00:00Z")},
		[]time.Time{e.PeriodStart, e.PeriodEnd})
	require.Equal(t, []events.Item{{
		Product: "pro_1", Price: "pri_plan", Units: events.Number{Value: 2, Present: true},
		Amount: events.Number{Value: 1500, Present: true},
	}}, e.Items)
	for _, eventType := range []string{
		"transaction.created", "transaction.updated", "transaction.ready", "transaction.billed", "transaction.paid",
		"transaction.past_due", "transaction.payment_failed", "transaction.canceled", "transaction.revised",
	} {
		e := paddleEvent(t, eventType, paddleTransaction, `"origin":"web"`, paddleTotal("3600"), `"items":[`+item+`]`)
		require.Equal(t, events.None, e.Action, eventType)
	}
	card := paddleEvent(t, "transaction.completed", paddleTransaction, `"origin":"subscription_payment_method_change"`,
		paddleTotal("0"), `"items":[`+item+`]`)
	require.Equal(t, events.None, card.Action)
}

func TestPaddleEventsOfTheSimulatorAreTestEvents(t *testing.T) {
	t.Parallel()
	for _, eventType := range []string{"transaction.completed", "subscription.created"} {
		e, err := paddle.Parse([]byte(`{"event_id":"ntfsimevt_01","event_type":"`+eventType+`","data":{"id":"x_1"}}`), "")
		require.NoError(t, err)
		require.Equal(t, events.Test, e.Mode, eventType)
	}
}

func TestPaddleSubscriptionStatusIsThatOfItsBody(t *testing.T) {
	t.Parallel()
	change := func(action string) string {
		return `"scheduled_change":{"action":"` + action + `","effective_at":"2026-04-01T10:00:00Z"}`
	}
	for _, c := range []struct{ eventType, status, scheduled, want string }{
		{"subscription.created", "trialing", `"scheduled_change":null`, events.Trialing},
		{"subscription.activated", "active", `"scheduled_change":null`, events.Active},
		{"subscription.updated", "active", change("cancel"), events.ScheduledCancel},
		{"subscription.updated", "trialing", change("cancel"), events.ScheduledCancel},
		{"subscription.updated", "past_due", change("cancel"), events.PastDue},
		{"subscription.updated", "active", change("pause"), events.Active},
		{"subscription.updated", "paused", change("resume"), events.Paused},
		{"subscription.canceled", "canceled", `"scheduled_change":null`, events.Canceled},
		{"subscription.resumed", "past_due", `"scheduled_change":null`, events.PastDue},
	} {
		e := paddleEvent(t, c.eventType, `"id":"sub_1","transaction_id":"txn_1"`, `"status":"`+c.status+`"`, c.scheduled)
		require.Equal(t, []any{events.Subscription, c.want, "sub_1", "txn_1"},
			[]any{e.Action, e.Status, e.SubscriptionID, e.Transaction}, c)
	}
}

// Paddle refunds the tax to a buyer who names a tax number after the purchase.
func TestPaddleRefundOfOnlyTheTaxTakesNoCredits(t *testing.T) {
	t.Parallel()
	for totals, want := range map[string]events.Number{
		`"subtotal":"0","tax":"300","total":"300"`:      {Present: true},
		`"subtotal":"1500","tax":"300","total":"1800"`:  {},
		`"subtotal":"0","tax":"0","total":"0"`:          {},
		`"tax":"300","total":"300"`:                     {},
		`"subtotal":"none","tax":"300","total":"300"`:   {},
		`"subtotal":"0","tax":"300","total":"not much"`: {},
	} {
		for action, refunds := range map[string]bool{"refund": true, "chargeback": false} {
			e := paddleEvent(t, "adjustment.updated", `"id":"adj_1","transaction_id":"txn_1","status":"approved"`,
				`"action":"`+action+`","totals":{`+totals+`}`)
			credits := want
			if !refunds {
				credits = events.Number{}
			}
			require.Equal(t, credits, e.Reversal.Credits, "%s %s", action, totals)
		}
	}
}

func TestPaddleAdjustmentsAboutChargebacksOfATransactionAreOneReversal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action, status string
		want           events.Action
		id             string
		cause          events.Cause
		reversal       events.ReversalStatus
	}{
		{"refund", "pending_approval", events.Reverse, "adj_1", events.Refund, events.Pending},
		{"refund", "approved", events.Reverse, "adj_1", events.Refund, events.Succeeded},
		{"refund", "rejected", events.Reverse, "adj_1", events.Refund, events.Failed},
		{"refund", "reversed", events.Reverse, "adj_1", events.Refund, events.Failed},
		{"chargeback", "approved", events.Reverse, "txn_1", events.Chargeback, events.Succeeded},
		{"chargeback", "reversed", events.Reverse, "txn_1", events.Chargeback, events.Failed},
		{"chargeback_warning", "approved", events.Reverse, "txn_1", events.Chargeback, events.Succeeded},
		{"chargeback_reverse", "approved", events.Reverse, "txn_1", events.Chargeback, events.Failed},
		{"chargeback_warning_reverse", "approved", events.Reverse, "txn_1", events.Chargeback, events.Failed},
		{"chargeback_reverse", "pending_approval", events.None, "", "", ""},
		{"chargeback_reverse", "reversed", events.None, "", "", ""},
		{"credit", "approved", events.None, "", "", ""},
		{"credit_reverse", "approved", events.None, "", "", ""},
		{"refund_reverse", "approved", events.None, "", "", ""},
		{"something_new", "approved", events.None, "", "", ""},
	} {
		for _, eventType := range []string{"adjustment.created", "adjustment.updated"} {
			e := paddleEvent(t, eventType,
				`"id":"adj_1","transaction_id":"txn_1","totals":{"total":"600"},"payout_totals":{"total":"900"}`,
				`"action":"`+c.action+`","status":"`+c.status+`"`)
			require.Equal(t, []any{c.want, c.id, c.cause, c.reversal},
				[]any{e.Action, e.Reversal.ID, e.Reversal.Cause, e.Reversal.Status}, c)
			if c.want == events.Reverse {
				require.Equal(t, []any{"txn_1", int64(600), false}, []any{
					e.Transaction, e.Reversal.Amount.Value,
					e.Reversal.Total.Present,
				}, c)
			}
		}
	}
}
