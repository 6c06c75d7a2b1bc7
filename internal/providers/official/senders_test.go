package official

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
)

// sender is one way in which a provider signs.
type sender struct {
	name     string // in sign.mjs
	provider string
	header   string // has the signatures
	body     string // has $id, $seconds and $time
	times    bool   // it signs a time, and with both secrets during a rotation
	verifies bool   // the provider's package verifies
	another  bool   // it is not the way in which internal/providers signs
}

// text changes if anybody reads it and writes it again.
const text = `"Zoë  \u00e9\/ 😀 1.0"`

const (
	creemBody  = `{"id": "evt_$id", "eventType": "x", "created_at": $seconds000, "object": {"id": ` + text + `}}`
	stripeBody = `{"id": "evt_$id", "type": "x", "created": $seconds, "data": {"object": {"id": ` + text + `}}}`
	paddleBody = `{"event_id": "evt_$id", "event_type": "x", "occurred_at": "$time", "data": {"id": ` + text + `}}`
	polarBody  = `{"type": "order.paid", "timestamp": "$time", "data": {"id": "$id", "note": ` + text + `}}`
	dodoBody   = `{"business_id": "bus_$id", "type": "x", "timestamp": "$time", "data": {"id": ` + text + `}}`
	lemonBody  = `{"meta": {"event_name": "x"}, "data": {"type": "orders", "id": "$id", "attributes": {"x": ` + text + `}}}`
	ownBody    = `{"id": "give_$id", "type": "gift", "time": "$time", "user": ` + text + `}`
)

const standard = "Webhook-Signature"

// senders are all ways in which the providers sign.
var senders = []sender{
	{name: "provider", provider: "provider", header: "Provider-Signature", body: creemBody},
	{name: "payfold", provider: "payfold", header: "Payfold-Signature", body: ownBody},
	{name: "lemonsqueezy", provider: "lemonsqueezy", header: "X-Signature", body: lemonBody},
	{name: "creem-signature", provider: "creem", header: "Creem-Signature", body: creemBody, verifies: true},
	{
		name: "x-creem-signature", provider: "creem", header: "X-Creem-Signature", body: creemBody,
		verifies: true, another: true,
	},
	{name: "creem", provider: "creem", header: standard, body: creemBody, times: true, verifies: true, another: true},
	{name: "stripe", provider: "stripe", header: "Stripe-Signature", body: stripeBody, times: true, verifies: true},
	{name: "paddle", provider: "paddle", header: "Paddle-Signature", body: paddleBody, times: true, verifies: true},
	{name: "polar", provider: "polar", header: standard, body: polarBody, times: true, verifies: true},
	{
		name: "polar-base64", provider: "polar", header: standard, body: polarBody,
		times: true, verifies: true, another: true,
	},
	{name: "dodo", provider: "dodo", header: standard, body: dodoBody, times: true, verifies: true},
}

// secrets are the secrets of each provider: that of before a rotation, that of after it, and one that ingest never gets.
// Each has the form that the provider gives it.
var secrets = map[string][3]string{
	"provider": {"whsec_5d0c6f1e7a2b4c3d", "whsec_a9b8c7d6e5f40312", "whsec_00112233445566aa"},
	"payfold":  {"own events, before the rotation", "own events, after the rotation", "own events of somebody else"},
	"lemonsqueezy": {
		"lemon, before the rotation", "lemon, after the rotation", "lemon of somebody else",
	},
	"creem": {
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
		"whsec_plJ3nmyCDGBKInavdOK15jsl",
	},
	"stripe": {
		"whsec_Zk3vJ0yQ8sT1uW5xB7nM2pL4", "whsec_Qe9rT6yU3iO0pA7sD4fG1hJ8", "whsec_Xc5vB2nM9lK6jH3gF0dS7aP4",
	},
	"paddle": {
		"pdl_ntfset_01hsdn8d43dt7mez_hKkRiCGyyRhb", "pdl_ntfset_01hsdn8d43dt7mez_T0yUwQ7iLpX3",
		"pdl_ntfset_01hsdn8d43dt7mez_9aVbNcMdKeJf",
	},
	"polar": {
		"whsec_cG9sYXIgYmVmb3JlIHRoZSByb3RhdGlvbg==", "whsec_cG9sYXIgYWZ0ZXIgdGhlIHJvdGF0aW9uIQ==",
		"whsec_cG9sYXIgb2Ygc29tZWJvZHkgZWxzZSAhIQ==",
	},
	"dodo": {
		"whsec_ZG9kbyBiZWZvcmUgdGhlIHJvdGF0aW9uIQ==", "whsec_ZG9kbyBhZnRlciB0aGUgcm90YXRpb24gISE=",
		"whsec_ZG9kbyBvZiBzb21lYm9keSBlbHNlICEhISE=",
	},
}

// The places in secrets.
const (
	older = iota
	newer
	foreign
)

func (s sender) secret(which int) string { return secrets[s.provider][which] }

// of is the provider.
func (s sender) of() *providers.Provider { return providers.Named(s.provider) }

// event returns the body and the id of an event of that name.
func (s sender) event(name string) (body, id string) {
	now, id := time.Now().UTC(), s.name+"_"+name
	return strings.NewReplacer(
		"$id", id, "$seconds", strconv.FormatInt(now.Unix(), 10), "$time", now.Format(time.RFC3339Nano),
	).Replace(s.body), "msg_" + id
}

// sign signs as the sender does at that time.
func (s sender) sign(t *testing.T, body, id string, at time.Time, which ...int) http.Header {
	t.Helper()
	var texts []string
	for _, one := range which {
		texts = append(texts, s.secret(one))
	}
	return official.sign(t, s.name, id, body, at, texts...)
}

// eachSender runs a test for each of the senders, all at once.
func eachSender(t *testing.T, senders []sender, test func(t *testing.T, s sender)) {
	t.Helper()
	for _, s := range senders {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func TestEveryProviderHasASender(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, s := range senders {
		have[s.provider] = true
		require.Contains(t, secrets, s.provider)
	}
	for _, name := range providers.Names() {
		require.True(t, have[name], name)
	}
}
