package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// The vector is that of the libraries of Standard Webhooks.
const (
	dodoSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	dodoID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	dodoAt        = "1614265330"
	dodoBody      = `{"test": 2432232314}`
	dodoSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

var dodoNow = time.Unix(1614265330, 0)

func dodoHeader(id, at, signature string) http.Header {
	return http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signature}}
}

func verifyDodo(t *testing.T, header http.Header, now time.Time) (Signature, error) {
	t.Helper()
	secret, err := dodo.NewSecret(dodoSecret)
	require.NoError(t, err)
	return dodo.Verify(header, []byte(dodoBody), []Secret{secret}, now)
}

func TestDodoSignature(t *testing.T) {
	t.Parallel()
	other := "v1," + strings.Repeat("A", 43) + "="
	long := dodoID + strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		header http.Header
		want   error
	}{
		"as Dodo writes it":            {dodoHeader(dodoID, dodoAt, dodoSignature), nil},
		"a second secret after it":     {dodoHeader(dodoID, dodoAt, dodoSignature+" "+other), nil},
		"a second secret before it":    {dodoHeader(dodoID, dodoAt, other+" "+dodoSignature), nil},
		"beside a newer version":       {dodoHeader(dodoID, dodoAt, "v2,abc "+dodoSignature), nil},
		"beside one that is no base64": {dodoHeader(dodoID, dodoAt, "v1,%% "+dodoSignature), nil},
		"another signature":            {dodoHeader(dodoID, dodoAt, other), ErrSignature},
		"another id":                   {dodoHeader("msg_2", dodoAt, dodoSignature), ErrSignature},
		"another time":                 {dodoHeader(dodoID, "1614265331", dodoSignature), ErrSignature},
		"without a version":            {dodoHeader(dodoID, dodoAt, dodoSignature[3:]), ErrSignature},
		"of another version":           {dodoHeader(dodoID, dodoAt, "v1a"+dodoSignature[2:]), ErrSignature},
		"nine signatures":              {dodoHeader(dodoID, dodoAt, strings.Repeat(dodoSignature+" ", 9)), ErrSignature},
		"a time in milliseconds":       {dodoHeader(dodoID, dodoAt+"000", dodoSignature), ErrSignature},
		"no time":                      {dodoHeader(dodoID, "", dodoSignature), ErrSignature},
		"no id":                        {dodoHeader("", dodoAt, dodoSignature), ErrSignature},
		"an id with a space":           {dodoHeader("msg 1", dodoAt, dodoSignature), ErrSignature},
		"a very long id":               {dodoHeader(long, dodoAt, dodoSignature), ErrSignature},
		"only a signature":             {http.Header{"Webhook-Signature": {dodoSignature}}, ErrSignature},
		"no signature":                 {http.Header{"Webhook-Id": {dodoID}, "Webhook-Timestamp": {dodoAt}}, ErrNoSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := verifyDodo(t, c.header, dodoNow)
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				want := []string{dodoID, dodoSignature[3:], dodoID + "." + dodoAt}
				require.Equal(t, want, []string{found.EventID, found.Text, found.Signed})
			}
		})
	}
}

func TestDodoSignsATime(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]error{
		Tolerance: nil, -Tolerance: nil, Tolerance + time.Second: ErrTimestamp, -Tolerance - time.Second: ErrTimestamp,
	} {
		_, err := verifyDodo(t, dodoHeader(dodoID, dodoAt, dodoSignature), dodoNow.Add(late))
		require.ErrorIs(t, err, want, late)
	}
}

func dodoEvent(t *testing.T, eventType, data string) events.Event {
	t.Helper()
	body := `{"business_id":"bus_1","type":"` + eventType + `","timestamp":"2026-03-01T10:00:05.123456Z","data":{` + data + `}}`
	event, err := dodo.Parse([]byte(body), "msg_1")
	require.NoError(t, err)
	require.Equal(t, "msg_1", event.ID)
	return event
}

func number(n int64) events.Number { return events.Number{Value: n, Present: true} }

func TestDodoPaymentCountsIfItsStateSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		eventType, data string
		action          events.Action
		unpaid          bool
	}{
		{"payment.succeeded", `"status":"succeeded"`, events.Payment, false},
		{"payment.succeeded", `"status":null`, events.Payment, false},
		{"payment.succeeded", `"status":"requires_capture"`, events.Payment, true},
		{"payment.succeeded", `"status":"cancelled"`, events.Payment, true},
		{"payment.processing", `"status":"processing"`, events.Payment, true},
		{"payment.processing", `"status":null`, events.Payment, true},
		{"payment.processing", `"status":"succeeded"`, events.Payment, false}, // retried after the payment had succeeded
		{"payment.failed", `"status":"succeeded"`, events.None, false},        // as Dodo's command line sends it
		{"payment.cancelled", `"status":"cancelled"`, events.None, false},
		{"payment.succeeded", `"status":"succeeded","is_update_payment_method":true`, events.None, false},
	} {
		event := dodoEvent(t, c.eventType, `"payment_id":"pay_1","total_amount":0,`+c.data)
		require.Equal(t, c.action, event.Action, c)
		require.Equal(t, c.unpaid, event.Unpaid, c)
	}
}

func TestDodoSubscriptionHasTheStatusOfItsBody(t *testing.T) {
	t.Parallel()
	const trial = `,"trial_period_days":30,"created_at":"2026-02-01T10:00:00Z"`
	for data, want := range map[string]string{
		`"status":"active"`:    events.Active,
		`"status":"on_hold"`:   events.PastDue,
		`"status":"past_due"`:  events.PastDue,
		`"status":"paused"`:    events.Paused,
		`"status":"pending"`:   events.Incomplete,
		`"status":"cancelled"`: events.Canceled,
		`"status":"failed"`:    events.Expired,
		`"status":"expired"`:   events.Expired,
		`"status":null`:        "",
		`"status":"active","cancel_at_next_billing_date":true`:                                                                events.ScheduledCancel,
		`"status":"cancelled","cancel_at_next_billing_date":true`:                                                             events.Canceled,
		`"status":"active","next_billing_date":"2026-03-03T10:00:00Z"` + trial:                                                events.Trialing,
		`"status":"active","next_billing_date":"2026-03-03T11:00:00Z"` + trial:                                                events.Trialing,
		`"status":"active","next_billing_date":"2026-03-03T11:00:01Z"` + trial:                                                events.Active,
		`"status":"active","previous_billing_date":"2026-02-01T11:00:00Z","next_billing_date":"2026-03-01T11:00:00Z"` + trial: events.Trialing,
		`"status":"active","previous_billing_date":"2026-02-01T11:00:01Z","next_billing_date":"2026-03-01T11:00:01Z"` + trial: events.Active,
		`"status":"on_hold","next_billing_date":"2026-03-03T10:00:00Z"` + trial:                                               events.PastDue,
		`"status":"active","next_billing_date":null` + trial:                                                                  events.Active,
		`"status":"active","next_billing_date":"2026-03-01T10:00:00Z","trial_period_days":30`:                                 events.Active,
	} {
		for _, eventType := range []string{"subscription.active", "subscription.updated", "subscription.cancelled"} {
			event := dodoEvent(t, eventType, `"subscription_id":"sub_1",`+data)
			require.Equal(t, want, event.Status, data)
			require.True(t, event.Recurring)
		}
	}
}

func TestDodoSubscriptionListsItsPlanBeforeItsAddons(t *testing.T) {
	t.Parallel()
	event := dodoEvent(t, "subscription.active",
		`"subscription_id":"sub_1","product_id":"pdt_1","quantity":3,"addons":[{"addon_id":"adn_1","quantity":5}]`)
	want := []events.Item{{Product: "pdt_1", Units: number(3)}, {Product: "adn_1", Units: number(5)}}
	require.Equal(t, want, event.Items)
	require.Equal(t, events.Number{}, event.Units, "the quantity is not that of the add-on")
}

func TestDodoPaymentOfSeveralSubscriptionsIsOfTheFirst(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`"subscription_id":"sub_1","subscription_ids":["sub_2"]`:       "sub_1",
		`"subscription_id":null,"subscription_ids":["sub_2", "sub_3"]`: "sub_2",
		`"subscription_id":null,"subscription_ids":[]`:                 "",
		`"subscription_id":null,"subscription_ids":null`:               "",
	} {
		require.Equal(t, want, dodoEvent(t, "payment.succeeded", data).SubscriptionID, data)
	}
}

func TestDodoReversal(t *testing.T) {
	t.Parallel()
	unreadable := events.Number{Present: true, Bad: true}
	for _, c := range []struct {
		eventType, data string
		status          events.ReversalStatus
		amount          events.Number
	}{
		{"refund.succeeded", `"status":"succeeded","amount":950,"is_partial":true`, events.Succeeded, number(950)},
		{"refund.succeeded", `"status":"pending","amount":950`, events.Pending, number(950)},
		{"refund.succeeded", `"status":"review","amount":950`, events.Pending, number(950)},
		{"refund.succeeded", `"amount":950`, events.Succeeded, number(950)},
		{"refund.failed", `"amount":950`, events.Failed, number(950)},
		{"refund.failed", `"status":"succeeded","amount":950`, events.Succeeded, number(950)},
		{"refund.succeeded", `"status":"succeeded","amount":null,"is_partial":false`, events.Succeeded, events.Number{}},
		{"refund.succeeded", `"status":"succeeded","amount":950,"is_partial":false`, events.Succeeded, events.Number{}},
		{"refund.succeeded", `"status":"succeeded","amount":"9.50","is_partial":false`, events.Succeeded, events.Number{}},
		{"refund.succeeded", `"status":"succeeded","amount":null,"is_partial":true`, events.Succeeded, unreadable},
		{"dispute.opened", `"amount":"1900","dispute_stage":"pre_dispute"`, events.Succeeded, number(1900)},
		{"dispute.challenged", `"amount":1900`, events.Succeeded, number(1900)},
		{"dispute.accepted", `"amount":"19.00"`, events.Succeeded, events.Number{}},
		{"dispute.lost", `"amount":"19.50"`, events.Succeeded, events.Number{}},
		{"dispute.expired", `"amount":1900`, events.Succeeded, number(1900)},
		{"dispute.won", `"amount":1900`, events.Failed, number(1900)},
		{"dispute.cancelled", `"amount":1900`, events.Failed, number(1900)},
	} {
		id := `"refund_id":"rd_1",`
		if strings.HasPrefix(c.eventType, "dispute") {
			id = `"dispute_id":"rd_1",`
		}
		event := dodoEvent(t, c.eventType, id+`"payment_id":"pay_1",`+c.data)
		require.Equal(t, events.Reverse, event.Action)
		require.Equal(t, "pay_1", event.Transaction)
		require.Equal(t, "rd_1", event.Reversal.ID)
		require.Equal(t, c.status, event.Reversal.Status, c)
		require.Equal(t, c.amount, event.Reversal.Amount, c)
	}
}

func TestDodoUserAndGitHubUser(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`"metadata":{"user_id":"u_1"},"customer":{"metadata":{"user_id":"u_2"}}`: "u_1",
		`"metadata":{},"customer":{"metadata":{"userId":"u_2"}}`:                 "u_2",
		`"metadata":{"a":"b"},"customer":{"metadata":{"user_id":"u_2"}}`:         "u_2",
		`"metadata":{"a":"b"}`: "",
	} {
		require.Equal(t, want, dodoEvent(t, "payment.succeeded", data).UserID, data)
	}
	event := dodoEvent(t, "payment.succeeded",
		`"custom_field_responses":[{"key":"company","value":"x"},{"key":"github_login","value":"@octocat"}]`)
	require.Equal(t, "octocat", event.GitHubUser)
	require.Equal(t, events.AnyMode, event.Mode)
}

// A body has the state of the time of the delivery: an old event that Dodo tries again may be of a dispute that was won
// since.
func TestDodoDisputeHasTheStatusOfItsBody(t *testing.T) {
	t.Parallel()
	for eventType, byType := range map[string]events.ReversalStatus{"dispute.opened": events.Succeeded, "dispute.won": events.Failed} {
		for state, want := range map[string]events.ReversalStatus{
			"dispute_opened": events.Succeeded, "dispute_challenged": events.Succeeded, "dispute_accepted": events.Succeeded,
			"dispute_lost": events.Succeeded, "dispute_expired": events.Succeeded,
			"dispute_won": events.Failed, "dispute_cancelled": events.Failed,
			"": byType, "dispute_renamed": byType,
		} {
			e := dodoEvent(t, eventType, `"dispute_id":"dp_1","payment_id":"pay_1","amount":"1900","dispute_status":"`+state+`"`)
			require.Equal(t, want, e.Reversal.Status, "%s %s", eventType, state)
		}
	}
}
