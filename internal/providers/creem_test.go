package providers

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestCreemSignature(t *testing.T) {
	t.Parallel()
	const id, at = "msg_1", "1772359200"
	body := []byte(`{"id":"evt_1"}`)
	secret, err := creem.NewSecret(dodoSecret)
	require.NoError(t, err)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(dodoSecret, "whsec_"))
	require.NoError(t, err)
	ofBody, ofTime := newKey([]byte(dodoSecret)).mac("", body), newKey(key).mac(id+"."+at+".", body)
	plain, standard := hex.EncodeToString(ofBody[:]), "v1,"+base64.StdEncoding.EncodeToString(ofTime[:])
	withTime := []string{"webhook-id", id, "webhook-timestamp", at, "webhook-signature"}
	headers := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	both := func(standard string) http.Header {
		return headers(slices.Concat(withTime, []string{standard, "creem-signature", plain})...)
	}
	for name, c := range map[string]struct {
		header http.Header
		signed string
		want   error
	}{
		"Standard Webhooks":         {headers(append(withTime, standard)...), id + "." + at, nil},
		"the body alone":            {headers("creem-signature", plain), "", nil},
		"in the other header":       {headers("x-creem-signature", plain), "", nil},
		"upper case":                {headers("creem-signature", strings.ToUpper(plain)), "", nil},
		"with sha256=":              {headers("creem-signature", "sha256="+plain), "", nil},
		"both":                      {both(standard), id + "." + at, nil},
		"both, the first is forged": {both("v1,AAAA"), "", ErrSignature},
		"forged":                    {headers("creem-signature", strings.Repeat("0", 64)), "", ErrSignature},
		"none":                      {headers("webhook-id", id, "webhook-timestamp", at), "", ErrNoSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := creem.Verify(c.header, body, []Secret{secret}, time.Unix(1772359200, 0))
			require.ErrorIs(t, err, c.want)
			require.Equal(t, c.signed, found.Signed)
		})
	}
}

// creemEvent reads the event in both of Creem's envelopes.
func creemEvent(t *testing.T, eventType, object string) events.Event {
	t.Helper()
	var read []events.Event
	for _, keys := range [][]string{{"eventType", "object"}, {"type", "data"}} {
		body := `{"id":"evt_1","created_at":1772359203000,"` +
			keys[0] + `":"` + eventType + `","` + keys[1] + `":{` + object + `}}`
		event, err := creem.Parse([]byte(body), "")
		require.NoError(t, err)
		read = append(read, event)
	}
	require.Equal(t, read[0], read[1])
	require.Equal(t, at("2026-03-01T10:00:03Z"), read[0].OccurredAt)
	return read[0]
}

func TestCreemEventTypes(t *testing.T) {
	t.Parallel()
	for eventType, want := range map[string]struct {
		action events.Action
		status string
	}{
		"checkout.completed":            {events.Payment, ""},
		"subscription.paid":             {events.Payment, ""},
		"subscription.active":           {events.Subscription, events.Active},
		"subscription.trialing":         {events.Subscription, events.Trialing},
		"subscription.canceled":         {events.Subscription, events.Canceled},
		"subscription.scheduled_cancel": {events.Subscription, events.ScheduledCancel},
		"subscription.past_due":         {events.Subscription, events.PastDue},
		"subscription.paused":           {events.Subscription, events.Paused},
		"subscription.unpaid":           {events.Subscription, events.Unpaid},
		"subscription.expired":          {events.Subscription, events.Expired},
		"subscription.update":           {events.Subscription, "active"},
		"refund.created":                {events.Reverse, ""},
		"dispute.created":               {events.Reverse, ""},
		"credits.granted":               {events.None, ""},
		"credits.consumed":              {events.None, ""},
		"customer_credits.exhausted":    {events.None, ""},
		"credits.auto_recharged":        {events.None, ""},
	} {
		event := creemEvent(t, eventType, `"id":"x_1","status":"active","customer_id":"cust_1"`)
		require.Equal(t, want.action, event.Action, eventType)
		require.Equal(t, want.status, event.Status, eventType)
		require.Equal(t, "cust_1", event.Key, eventType)
	}
}

func TestCreemOrderOrTransactionIsPaid(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"order", "last_transaction", "transaction"} {
		for status, unpaid := range map[string]bool{
			"pending": true, "declined": true, "uncollectible": true, "void": true, "canceled": true,
			"paid": false, "refunded": false, "partialRefund": false, "chargedBack": false, "chargeback": false,
		} {
			object := `"id":"x_1","` + path + `":{"id":"y_1","status":"` + status + `"}`
			for _, eventType := range []string{"checkout.completed", "subscription.paid"} {
				require.Equal(t, unpaid, creemEvent(t, eventType, object).Unpaid, status)
			}
			require.False(t, creemEvent(t, "refund.created", object).Unpaid, status)
		}
	}
}

func TestCreemCheckoutOfASubscriptionHasItsStatus(t *testing.T) {
	t.Parallel()
	const (
		pending = `,"order":{"id":"ord_1","status":"pending"}`
		paid    = `,"order":{"id":"ord_1","status":"paid","transaction":"tr_1"}`
	)
	for object, want := range map[string]struct {
		action events.Action
		status string
	}{
		`"subscription":{"id":"sub_1","status":"trialing"}`:             {events.Checkout, events.Trialing},
		`"subscription":{"id":"sub_1"}`:                                 {events.Checkout, events.Active},
		`"subscription":"sub_1"`:                                        {events.Checkout, events.Active},
		`"subscription":{"id":"sub_1"}` + pending:                       {events.Checkout, ""},
		`"subscription":{"id":"sub_1","status":"incomplete"}` + pending: {events.Checkout, events.Incomplete},
		`"subscription":{"id":"sub_1","status":"active"}` + paid:        {events.Payment, ""},
		`"subscription":{"id":"sub_1","status":"canceled"}` + paid:      {events.Payment, ""},
		`"subscription":{"id":"sub_1","status":"trialing"}` + paid:      {events.Payment, events.Trialing},
		`"subscription":{"id":"sub_1","status":"incomplete"}` + paid:    {events.Payment, events.Incomplete},
		`"subscription":{"id":"sub_1","status":"past_due"}` + paid:      {events.Payment, events.PastDue},
		`"status":"completed"` + paid:                                   {events.Payment, ""},
		`"status":"completed","order":"ord_1"`:                          {events.Payment, ""},
	} {
		for _, p := range []*Provider{creem, specification} {
			event, err := p.Parse([]byte(`{"id":"evt_1","eventType":"checkout.completed","created_at":1767225600000,"object":{`+object+`}}`), "")
			require.NoError(t, err)
			require.Equal(t, want.action, event.Action, object)
			require.Equal(t, want.status, event.Status, object)
		}
	}
}

// A checkout can name the payment of 0 with which a trial begins. Of other payments 0 can be what is paid so far.
func TestCreemTrialIsAPaymentOfNothingInATrial(t *testing.T) {
	t.Parallel()
	for object, trial := range map[string]bool{
		`"subscription":{"id":"s","status":"trialing"},"order":{"id":"o","transaction":"t","amount":0}`:                                  true,
		`"subscription":{"id":"s","status":"trialing"},"order":{"id":"o","transaction":"t","amount":900,"amount_paid":0}`:                true,
		`"subscription":{"id":"s","status":"trialing"},"order":{"id":"o","transaction":"t","amount":900,"amount_paid":500}`:              false,
		`"subscription":{"id":"s","status":"trialing"},"order":{"id":"o","transaction":"t"}`:                                             false,
		`"subscription":{"id":"s","status":"trialing"},"order":{"id":"o","amount_paid":0}`:                                               false,
		`"subscription":{"id":"s","status":"active"},"order":{"id":"o","transaction":"t","amount":900,"amount_paid":0,"amount_due":900}`: false,
		`"subscription":{"id":"s","status":"active"},"order":{"id":"o","transaction":"t","amount":0}`:                                    false,
		`"status":"trialing","order":{"id":"o","transaction":"t","amount":0}`:                                                            false,
	} {
		for _, p := range []*Provider{creem, specification} {
			event, err := p.Parse([]byte(`{"id":"evt_1","eventType":"checkout.completed","created_at":1767225600000,"object":{`+object+`}}`), "")
			require.NoError(t, err)
			require.Equal(t, trial, event.Trial, object)
		}
	}
	require.True(t, creemEvent(t, "subscription.paid", `"id":"s","status":"trialing","last_transaction":{"id":"t","amount_paid":0}`).Trial)
	require.False(t, creemEvent(t, "subscription.paid", `"id":"s","status":"active","last_transaction":{"id":"t","amount_paid":0}`).Trial)
}

func TestCreemReversalStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]events.ReversalStatus{
		`"succeeded"`: events.Succeeded, `null`: events.Succeeded, `"pending"`: events.Pending,
		`"requiresAction"`: events.Pending, `"failed"`: events.Failed, `"canceled"`: events.Failed,
	} {
		event := creemEvent(t, "refund.created", `"id":"ref_1","status":`+status)
		require.Equal(t, want, event.Reversal.Status, status)
	}
	event := creemEvent(t, "dispute.created", `"id":"disp_1","status":"open"`)
	require.Equal(t, events.Succeeded, event.Reversal.Status, "no later event says how the dispute ends")
	require.Equal(t, events.Chargeback, event.Reversal.Cause)
}

func TestCreemCustomFieldNamesTheGitHubUser(t *testing.T) {
	t.Parallel()
	const fields = `"custom_fields":[{"key":"note","type":"checkbox","checkbox":{"value":true}},
		{"key":"GitHub_user","type":"text","text":{"value":"https://github.com/octocat"}}]`
	require.Equal(t, "octocat", creemEvent(t, "checkout.completed", fields).GitHubUser)
	require.Equal(t, "hubot", creemEvent(t, "checkout.completed", fields+`,"metadata":{"github":"hubot"}`).GitHubUser)
}
