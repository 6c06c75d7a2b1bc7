package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// Package providers tests how signatures are checked.

func TestTheLogKeepsTheSignatureAndItsSigner(t *testing.T) {
	t.Parallel()
	for _, signer := range []string{current, previous} {
		w := setup(t)
		r := delivery(event)
		r.header[specification.SignatureHeader] = []string{" SHA256=" + strings.ToUpper(sign(signer, event))}
		require.Equal(t, accepted, w.send(r).body)
		got := w.log.deliveries()
		require.Len(t, got, 1)
		require.Equal(t, sign(signer, event), got[0].Signature)
		require.Equal(t, specification.NewSecret(signer).Fingerprint(), got[0].KeyFingerprint)
		require.Equal(t, []string{"provider", ""}, []string{got[0].Provider, got[0].Signed})
	}
}

// The answers must not tell an attacker how close he came.
func TestForgedSignatureIsRefusedInTheSameBytesHoweverItIsForged(t *testing.T) {
	t.Parallel()
	w := setup(t)
	good := sign(current, event)
	var first string
	for _, values := range [][]string{
		{""},
		{"sha256="},
		{"sha256=sha256=" + good},
		{"sha512=" + good},
		{good[:62]},
		{good[:63]},
		{good + "00"},
		{good[:32] + " " + good[32:]},
		{strings.Repeat("z", 64)},
		{strings.Repeat("0", 64)},
		{sign(current, event+" ")},
		{sign(foreign, event)},
		{sign("", event)},
		{good, "a", "b", "c", "d", "e", "f", "g", "h"},
		{good, good, good, good, good, good, good, good, good},
	} {
		r := delivery(event)
		r.header[specification.SignatureHeader] = values
		got := w.send(r)
		requireProblem(t, got, http.StatusUnauthorized, unauthorized)
		require.Equal(t, "no signature in provider-signature is that of the raw body under this endpoint's secret", got.detail(t))
		all := w.converse(r)
		if first == "" {
			first = all
		}
		require.Equal(t, first, all, values)
	}
	require.Empty(t, w.log.deliveries())
	require.EqualValues(t, 30, w.deliveries()["unauthorized/signature"])
}

func TestADeliveryWithoutASignatureIsToldWhichHeaderIsExpected(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for others, detail := range map[string]string{
		"":                  "this path expects provider-signature",
		"Signature":         "this path expects provider-signature",
		"Creem-Signature":   "this path expects provider-signature; the delivery has creem-signature",
		"Webhook-Signature": "this path expects provider-signature; the delivery has webhook-signature",
		"Payfold-Signature": "this path expects provider-signature; the delivery has payfold-signature",
	} {
		r := delivery(event)
		unsign(r)
		if others != "" {
			r.header.Set(others, sign(current, event))
		}
		got := w.send(r)
		requireProblem(t, got, http.StatusUnauthorized, unauthorized)
		require.Equal(t, detail, got.detail(t))
	}
	require.Empty(t, w.log.deliveries())
	require.EqualValues(t, 5, w.deliveries()["unauthorized/no_signature"])
}

func TestASignedTimeThatIsNotNearOursIsRefused(t *testing.T) {
	t.Parallel()
	const key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	creem := providers.Named("creem")
	secret, err := creem.NewSecret("whsec_" + key)
	require.NoError(t, err)
	plain, err := base64.StdEncoding.DecodeString(key)
	require.NoError(t, err)
	w := setup(t, func(w *world) { w.config.Secrets["creem"] = []providers.Secret{secret} })
	const event = `{"id":"evt_1","eventType":"checkout.completed","created_at":1767225600000,"object":{}}`
	send := func(at time.Time) reply {
		r := delivery(event)
		unsign(r)
		r.path = creem.Path()
		seconds := strconv.FormatInt(at.Unix(), 10)
		mac := hmac.New(sha256.New, plain)
		mac.Write([]byte("msg_1." + seconds + "." + event))
		r.header["Webhook-Id"], r.header["Webhook-Timestamp"] = []string{"msg_1"}, []string{seconds}
		r.header["Webhook-Signature"] = []string{"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))}
		return w.send(r)
	}
	now := time.Now()
	for _, at := range []time.Time{now.Add(-time.Hour), now.Add(time.Hour)} {
		got := send(at)
		requireProblem(t, got, http.StatusUnauthorized, unauthorized)
		require.Equal(t, "the signed time is more than five minutes from this server's", got.detail(t))
	}
	require.Empty(t, w.log.deliveries())
	require.EqualValues(t, 2, w.deliveries()["unauthorized/timestamp"])
	require.Equal(t, accepted, send(now).body)
	got := w.log.deliveries()
	require.Len(t, got, 1)
	require.Equal(t, []string{"creem", "msg_1." + strconv.FormatInt(now.Unix(), 10)}, []string{got[0].Provider, got[0].Signed})
}

func TestAProviderWithoutASecretIsNotServed(t *testing.T) {
	t.Parallel()
	w := setup(t, func(w *world) { w.config.Secrets = nil })
	r := delivery(event)
	r.header[specification.SignatureHeader] = []string{sign(current, event), sign("", event), ""}
	requireProblem(t, w.send(r), http.StatusNotFound, notFound)
}

// detail is what a problem says.
func (r reply) detail(t *testing.T) string {
	t.Helper()
	var problem struct{ Detail string }
	require.NoError(t, json.Unmarshal([]byte(r.body), &problem))
	return problem.Detail
}
