package webhook_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/webhook"
)

func TestSignIsHMACSHA256(t *testing.T) {
	t.Parallel()
	// RFC 4231, test case 2.
	require.Equal(t, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
		webhook.NewSecret("Jefe").Sign([]byte("what do ya want for nothing?")))
}

func TestDuringARotationEitherSecretSigns(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		values []string
		signer string
	}{
		"current":                     {[]string{sign(current, event)}, current},
		"previous":                    {[]string{sign(previous, event)}, previous},
		"both":                        {[]string{sign(previous, event), sign(current, event)}, current},
		"a foreign one and previous":  {[]string{sign(foreign, event), sign(previous, event)}, previous},
		"current and then a bad one":  {[]string{sign(current, event), "bad"}, current},
		"previous and then a bad one": {[]string{sign(previous, event), "bad", ""}, previous},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			r := delivery(event)
			r.header[webhook.SignatureHeader] = row.values
			require.Equal(t, accepted, w.send(r).body)
			got := w.log.deliveries()
			require.Len(t, got, 1)
			require.Equal(t, sign(row.signer, event), got[0].Signature)
			require.Equal(t, webhook.NewSecret(row.signer).Fingerprint(), got[0].KeyFingerprint)
		})
	}
}

func TestFingerprintsTellSecretsApartAndGiveNothingAway(t *testing.T) {
	t.Parallel()
	print := webhook.NewSecret(current).Fingerprint()
	require.Regexp(t, `^[0-9a-f]{16}$`, print)
	require.Equal(t, print, webhook.NewSecret(current).Fingerprint())
	require.NotEqual(t, print, webhook.NewSecret(previous).Fingerprint())
	require.NotEqual(t, print, sign(current, "")[:16])
}

func TestASignatureMayBeWrittenInSeveralWays(t *testing.T) {
	t.Parallel()
	good := sign(current, event)
	for name, values := range map[string][]string{
		"lower case":            {good},
		"upper case":            {strings.ToUpper(good)},
		"spaces around":         {"  " + good + "\t "},
		"prefix":                {"sha256=" + good},
		"prefix in upper case":  {" SHA256=" + strings.ToUpper(good)},
		"twice":                 {good, good},
		"eight, the last right": {"", "a", "b", "c", "d", "e", "f", good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			r := delivery(event)
			r.header[webhook.SignatureHeader] = values
			require.Equal(t, accepted, w.send(r).body)
			require.Equal(t, good, w.log.deliveries()[0].Signature, "as the log keeps it: plain lower-case hex")
		})
	}
}

// The answers must not tell an attacker how close he came.
func TestForgedSignatureIsRefusedInTheSameBytesHoweverItIsForged(t *testing.T) {
	t.Parallel()
	w := setup(t)
	good := sign(current, event)
	var first string
	for _, values := range [][]string{
		nil,
		{""},
		{"sha256="},
		{"sha256=sha256=" + good},
		{"sha512=" + good},
		{good[:62]},
		{good[:63]},
		{good + "00"},
		{good[:32] + " " + good[32:]},
		{good + "," + good},
		{strings.Repeat("z", 64)},
		{strings.Repeat("0", 64)},
		{sign(current, event+" ")},
		{sign(foreign, event)},
		{sign("", event)},
		{good, "a", "b", "c", "d", "e", "f", "g", "h"},
		{good, good, good, good, good, good, good, good, good},
	} {
		r := delivery(event)
		r.header[webhook.SignatureHeader] = values
		requireProblem(t, w.send(r), http.StatusUnauthorized, unauthorized)
		all := w.converse(r)
		if first == "" {
			first = all
		}
		require.Equal(t, first, all, values)
	}
	require.Empty(t, w.log.deliveries())
}

func TestWithoutASecretNothingVerifies(t *testing.T) {
	t.Parallel()
	w := setup(t, func(w *world) { w.config.Secrets = nil })
	r := delivery(event)
	r.header[webhook.SignatureHeader] = []string{sign(current, event), sign("", event), ""}
	require.Equal(t, http.StatusUnauthorized, w.send(r).status)
}
