package providers

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// The vectors were made by the rules of Polar's library for TypeScript: the key is the secret's text, or its base64.
const (
	polarVectorID     = "7f2c1a34-0000-4000-8000-000000000001"
	polarVectorBody   = `{"type":"order.paid","timestamp":"2026-03-01T10:00:00.123456Z","data":{}}`
	polarVectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	polarOfText       = "0QjEalafJgPi5iFzQbo+l5x1Npjgmegfi75WZI+P2z8="
	polarOfBase64     = "w1ivERVBIafe/rZsgWZ7+4dzanfYfAODc0uBwQ47yRg="
)

var polarVectorTime = time.Unix(1772359200, 0)

func polarHeader(signature string) http.Header {
	return http.Header{
		"Webhook-Id": {polarVectorID}, "Webhook-Timestamp": {"1772359200"},
		"Webhook-Signature": {signature},
	}
}

func TestPolarSignature(t *testing.T) {
	t.Parallel()
	other := "v1," + base64.StdEncoding.EncodeToString(make([]byte, 32))
	for name, c := range map[string]struct {
		header string
		found  string
	}{
		"by the text of the secret":    {"v1," + polarOfText, polarOfText},
		"by its base64":                {"v1," + polarOfBase64, polarOfBase64},
		"by both":                      {"v1," + polarOfBase64 + " v1," + polarOfText, polarOfBase64},
		"after another":                {other + " v1," + polarOfText, polarOfText},
		"before another":               {"v1," + polarOfText + " " + other, polarOfText},
		"beside another version":       {"v1a," + polarOfBase64 + " v1," + polarOfText, polarOfText},
		"empty":                        {"", ""},
		"only another version":         {"v2," + polarOfText, ""},
		"without a version":            {polarOfText, ""},
		"without its end":              {"v1," + polarOfText[:len(polarOfText)-1], ""},
		"another signature":            {other, ""},
		"separated by commas":          {other + ",v1," + polarOfText, ""},
		"nine signatures":              {strings.Repeat("v1,"+polarOfText+" ", 9), ""},
		"as hex":                       {"v1," + strings.Repeat("ab", 32), ""},
		"by the key of another secret": {"v1,n7DeNIeteywkahaU4HJ2VATP+gonAontaZDXcuihOro=", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := verifyPolar(t, polarVectorSecret, polarHeader(c.header), polarVectorBody, polarVectorTime)
			if c.found == "" {
				require.ErrorIs(t, err, ErrSignature)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{polarVectorID, c.found, polarVectorID + ".1772359200"},
				[]string{found.EventID, found.Text, found.Signed})
		})
	}
}

func TestPolarSignsTheIDTheTimeAndTheBody(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]error{
		0: nil, Tolerance: nil, -Tolerance: nil,
		Tolerance + time.Second: ErrTimestamp, -Tolerance - time.Second: ErrTimestamp,
	} {
		_, err := verifyPolar(t, polarVectorSecret, polarHeader("v1,"+polarOfText), polarVectorBody,
			polarVectorTime.Add(late))
		require.ErrorIs(t, err, want, late)
	}
	_, err := verifyPolar(t, polarVectorSecret, polarHeader("v1,"+polarOfText), polarVectorBody+" ", polarVectorTime)
	require.ErrorIs(t, err, ErrSignature)
	_, err = verifyPolar(t, polarVectorSecret, http.Header{}, polarVectorBody, polarVectorTime)
	require.ErrorIs(t, err, ErrNoSignature)
	for name, values := range map[string][]string{
		"Webhook-Id": {"another"}, "Webhook-Timestamp": {"1772359201"},
	} {
		for _, given := range [][]string{nil, {""}, values, append(polarHeader("")[name], polarHeader("")[name]...)} {
			header := polarHeader("v1," + polarOfText)
			header[name] = given
			_, err := verifyPolar(t, polarVectorSecret, header, polarVectorBody, polarVectorTime)
			require.ErrorIs(t, err, ErrSignature, "%s %v", name, given)
		}
	}

	// The text of the secret is the key, whatever it is. A secret of one's own need not be base64.
	for secret, signature := range map[string]string{
		"mysecret": "n7DeNIeteywkahaU4HJ2VATP+gonAontaZDXcuihOro=", polarVectorSecret: polarOfText,
	} {
		of, err := polar.NewSecret(secret)
		require.NoError(t, err)
		header := polar.Sign(of, polarVectorID, []byte(polarVectorBody), polarVectorTime)
		require.Equal(t, polarHeader("v1,"+signature), header, "as Polar signs it")
		_, err = verifyPolar(t, secret, header, polarVectorBody, polarVectorTime)
		require.NoError(t, err)
	}
	_, err = polar.NewSecret("not base64!")
	require.NoError(t, err)

	// The public vector of Standard Webhooks.
	header := http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}
	_, err = verifyPolar(t, polarVectorSecret, header, `{"test": 2432232314}`, time.Unix(1614265330, 0))
	require.NoError(t, err)
}

func verifyPolar(t *testing.T, secret string, header http.Header, body string, now time.Time) (Signature, error) {
	t.Helper()
	of, err := polar.NewSecret(secret)
	require.NoError(t, err)
	return polar.Verify(header, []byte(body), []Secret{of}, now)
}

func polarEvent(t *testing.T, eventType string, fields ...string) events.Event {
	t.Helper()
	body := `{"type":"` + eventType + `","timestamp":"2026-03-01T10:00:00.123456Z","data":{` + strings.Join(fields,
		",") + `}}`
	event, err := polar.Parse([]byte(body), polarVectorID)
	require.NoError(t, err, body)
	require.Equal(t, []any{polarVectorID, eventType, at("2026-03-01T10:00:00.123456Z")},
		[]any{event.ID, event.Type, event.OccurredAt})
	return event
}

func TestPolarOrderIsAPaymentOnlyWhenItIsPaid(t *testing.T) {
	t.Parallel()
	const of = `"id":"ord_1","status":"paid","currency":"eur","product_id":"prod_1","subscription_id":"sub_1"`
	const atTheEnd = `"created_at":"2026-04-01T10:00:02Z",`
	subscription := func(status string) string {
		return `"subscription":{"id":"sub_1","status":"` + status + `",` +
			`"current_period_start":"2026-03-01T10:00:00Z","current_period_end":"2026-04-01T10:00:00Z"}`
	}
	for name, c := range map[string]struct {
		fields string
		action events.Action
		trial  bool
		amount int64
	}{
		"paid": {`"total_amount":1800,"applied_balance_amount":0,` + subscription("active"), events.Payment, false, 1800},
		"before there was a balance": {
			`"total_amount":1800,` + subscription("active"), events.Payment, false, 1800,
		},
		"partly paid by the balance": {
			`"total_amount":1800,"applied_balance_amount":-900,` + subscription("active"), events.Payment, false, 900,
		},
		"a cheaper plan": {
			`"total_amount":-900,"applied_balance_amount":0,"billing_reason":"subscription_update",` + subscription("active"),
			events.Payment, false, 0,
		},
		"a trial": {
			`"total_amount":0,"billing_reason":"subscription_create",` + subscription("trialing"), events.Payment, true, 0,
		},
		"something paid in a trial": {
			`"total_amount":500,"billing_reason":"subscription_update",` + subscription("trialing"), events.Payment, false, 500,
		},
		"a discount of everything": {
			`"total_amount":0,"discount_amount":1500,` + subscription("active"), events.Payment, false, 0,
		},
		"what was used": {
			`"total_amount":700,"billing_reason":"subscription_meter_cycle",` + subscription("active"), events.None, false, 700,
		},
		"what was used until the end": {
			`"total_amount":700,"billing_reason":"subscription_cycle","items":[{"amount":700,"proration":false}],` + atTheEnd +
				subscription("canceled"), events.None, false, 700,
		},
		"the rest of a change, at the end": {
			`"total_amount":900,"billing_reason":"subscription_cycle","items":[{"amount":700,"proration":true},{"amount":200,"proration":false}],` +
				atTheEnd + subscription("canceled"), events.Payment, false, 900,
		},
		"a renewal that was cancelled at once": {
			`"total_amount":1800,"billing_reason":"subscription_cycle","items":[{"amount":1800}],` +
				`"created_at":"2026-03-01T10:00:02Z",` + subscription("canceled"), events.Payment, false, 1800,
		},
		"a renewal with what was used": {
			`"total_amount":2500,"billing_reason":"subscription_cycle","items":[{"amount":700},{"amount":1800}],` +
				subscription("active"), events.Payment, false, 2500,
		},
	} {
		e := polarEvent(t, "order.paid", of, c.fields)
		require.Equal(t, []any{c.action, c.trial, c.amount, "EUR", "ord_1", "", "sub_1", "prod_1"},
			[]any{e.Action, e.Trial, e.Amount.Value, e.Currency, e.Transaction, e.Order, e.SubscriptionID, e.Product}, name)
		require.Equal(t, []time.Time{at("2026-03-01T10:00:00Z"), at("2026-04-01T10:00:00Z")}, []time.Time{
			e.PeriodStart,
			e.PeriodEnd,
		}, name)
		for _, eventType := range []string{"order.created", "order.updated"} {
			require.Equal(t, events.None, polarEvent(t, eventType, of, c.fields).Action, name)
		}
	}
}

// The body has the period of its subscription now, which is no longer that of an order that was made before it.
func TestPolarOrderThatIsPaidLateHasNoPeriod(t *testing.T) {
	t.Parallel()
	begin, end := at("2026-03-15T10:00:00Z"), at("2026-03-22T10:00:00Z")
	for made, want := range map[string][]time.Time{
		`"2026-03-08T10:00:05Z"`: {{}, {}}, `"2026-03-15T10:00:00Z"`: {begin, end}, `"2026-03-15T10:00:05Z"`: {begin, end}, `null`: {begin, end},
	} {
		e := polarEvent(t, "order.paid", `"id":"ord_1","billing_reason":"subscription_cycle","created_at":`+made,
			`"subscription":{"id":"sub_1","current_period_start":"2026-03-15T10:00:00Z","current_period_end":"2026-03-22T10:00:00Z"}`)
		require.Equal(t, want, []time.Time{e.PeriodStart, e.PeriodEnd}, made)
	}
}

func TestPolarUserIsTheShopsAndNeverPolars(t *testing.T) {
	t.Parallel()
	const own = `"user_id":"polar_1","user":{"id":"polar_1","github_username":"mallory"}`
	for name, c := range map[string]struct{ fields, user, github string }{
		"nobody":             {`"metadata":{},"customer":{"id":"cus_1","external_id":null}`, "", ""},
		"the metadata":       {`"metadata":{"user_id":"u_1"},"customer":{"external_id":"u_2"}`, "u_1", ""},
		"a link's reference": {`"metadata":{"reference_id":"u_1"}`, "u_1", ""},
		"the customer":       {`"metadata":{},"customer":{"external_id":"u_2"}`, "u_2", ""},
		"beside other metadata": {
			`"metadata":{"campaign":"x"},"customer":{"external_id":"u_2","metadata":{"user_id":"u_3"}}`, "u_2", "",
		},
		"the subscription's": {
			`"metadata":{},"subscription":{"user_id":"polar_1","metadata":{"user_id":"u_1"}}`, "u_1", "",
		},
		"the customer's metadata": {`"metadata":{"campaign":"x"},"customer":{"metadata":{"user_id":"u_3"}}`, "u_3", ""},
		"a custom field": {
			`"metadata":{"user_id":"u_1"},"custom_field_data":{"github-username":"octocat"}`, "u_1", "octocat",
		},
		"metadata before the field": {
			`"metadata":{"user_id":"u_1","github":"hubot"},"custom_field_data":{"github":"octocat"}`, "u_1", "hubot",
		},
	} {
		e := polarEvent(t, "order.paid", `"id":"ord_1","customer_id":"cus_1"`, own, c.fields)
		require.Equal(t, []string{c.user, c.github, "cus_1"}, []string{e.UserID, e.GitHubUser, e.Key}, name)
	}
}

func TestPolarUnitsAreSeatsIfThereAreNoOthers(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]events.Number{
		`"units":3,"seats":null`: {Value: 3, Present: true}, `"units":null,"seats":5`: {Value: 5, Present: true},
		`"units":null,"seats":null`: {},
		// Only the order of a checkout has them itself.
		`"units":null,"seats":null,"subscription":{"id":"sub_1","units":null,"seats":5}`: {Value: 5, Present: true},
		`"units":null,"seats":null,"subscription":{"id":"sub_1","units":3,"seats":null}`: {Value: 3, Present: true},
		`"units":null,"seats":4,"subscription":{"id":"sub_1","units":null,"seats":5}`:    {Value: 4, Present: true},
		`"units":null,"seats":null,"subscription":{"id":"sub_1"}`:                        {},
	} {
		require.Equal(t, want, polarEvent(t, "order.paid", `"id":"ord_1"`, fields).Units, fields)
	}
}

func TestPolarSubscriptionStatusIsThatOfItsBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		eventType, status, ending, want string
	}{
		{"subscription.active", "trialing", "false", events.Trialing},
		{"subscription.canceled", "active", "true", events.ScheduledCancel},
		{"subscription.canceled", "trialing", "true", events.ScheduledCancel},
		{"subscription.canceled", "canceled", "true", events.Canceled},
		{"subscription.canceled", "past_due", "true", events.PastDue},
		{"subscription.uncanceled", "active", "false", events.Active},
		{"subscription.updated", "unpaid", "false", events.Unpaid},
		{"subscription.updated", "incomplete_expired", "false", events.Expired},
		{"subscription.created", "incomplete", "false", events.Incomplete},
		{"subscription.revoked", "active", "true", events.Canceled},
	} {
		e := polarEvent(t, c.eventType,
			`"id":"sub_1","checkout_id":"chk_1","status":"`+c.status+`","cancel_at_period_end":`+c.ending)
		require.Equal(t, []any{events.Subscription, c.want, "sub_1", ""},
			[]any{e.Action, e.Status, e.SubscriptionID, e.PaymentID()}, c)
	}
}

func TestPolarRefundsAreWithTax(t *testing.T) {
	t.Parallel()
	const of = `"id":"ref_1","order_id":"ord_1","subscription_id":"sub_1","amount":500,"tax_amount":100,` +
		`"metadata":{"user_id":"u_9","kind":"pro","github":"mallory"}`
	for name, c := range map[string]struct {
		fields string
		status events.ReversalStatus
		cause  events.Cause
	}{
		"pending": {
			`"status":"pending","reason":"customer_request","dispute":null`, events.Pending, events.Refund,
		},
		"succeeded": {`"status":"succeeded","reason":"duplicate"`, events.Succeeded, events.Refund},
		"failed":    {`"status":"failed","reason":"other"`, events.Failed, events.Refund},
		"canceled":  {`"status":"canceled","reason":"other"`, events.Failed, events.Refund},
		"prevents a dispute": {
			`"status":"succeeded","reason":"dispute_prevention"`, events.Succeeded, events.Chargeback,
		},
		"of a dispute": {
			`"status":"succeeded","reason":"other","dispute":{"id":"dis_1"}`, events.Succeeded, events.Chargeback,
		},
		"a status that is not known": {`"status":"requires_something"`, events.Pending, events.Refund},
	} {
		for _, eventType := range []string{"refund.created", "refund.updated"} {
			e := polarEvent(t, eventType, of, c.fields)
			require.Equal(t, events.Reversal{
				ID: "ref_1", Cause: c.cause, Status: c.status, Amount: events.Number{Value: 600, Present: true},
			}, e.Reversal, name)
			require.Equal(t, []string{"ord_1", "", "", ""}, []string{e.Transaction, e.UserID, e.Kind, e.GitHubUser}, name)
		}
	}
	for fields, paid := range map[string]int64{
		`"total_amount":1800,"applied_balance_amount":-300`: 1500, `"total_amount":1800`: 1800, `"total_amount":-900`: 0,
	} {
		e := polarEvent(t, "order.refunded", `"id":"ord_1","refunded_amount":500,"refunded_tax_amount":100`, fields)
		require.Equal(t, events.Reversal{
			ID: "ord_1", Cause: events.Refund, Status: events.Succeeded,
			Total: events.Number{Value: 600, Present: true}, Paid: events.Number{Value: paid, Present: true},
		}, e.Reversal, fields)
	}
}
