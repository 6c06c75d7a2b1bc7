package providers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

const (
	current  = "whsec_current_8c1f5be0"
	previous = "whsec_previous_41d20a7e"
	foreign  = "whsec_current_8c1f5be1"
	anEvent  = `{"id":"evt_1","eventType":"checkout.completed","object":{}}`
)

var now = time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)

// sign does not use the package's own Sign.
func sign(secret, text string) string { return hex.EncodeToString(macOf([]byte(secret), text)) }

func macOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func newSecret(t *testing.T, p *Provider, text string) Secret {
	t.Helper()
	secret, err := p.NewSecret(text)
	require.NoError(t, err)
	return secret
}

// verified is what Verify says of a delivery of the specification's provider with these signatures.
func verified(t *testing.T, values ...string) (Signature, error) {
	t.Helper()
	secrets := []Secret{newSecret(t, specification, current), newSecret(t, specification, previous)}
	return specification.Verify(http.Header{"Provider-Signature": values}, []byte(anEvent), secrets, now)
}

func TestSignIsHMACSHA256(t *testing.T) {
	t.Parallel()
	// RFC 4231, test case 2.
	headers := specification.Sign(newSecret(t, specification, "Jefe"), "", []byte("what do ya want for nothing?"), now)
	require.Equal(t, http.Header{"Provider-Signature": {"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}}, headers)
}

func TestDuringARotationEitherSecretSigns(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		values []string
		signer string
	}{
		"current":                     {[]string{sign(current, anEvent)}, current},
		"previous":                    {[]string{sign(previous, anEvent)}, previous},
		"both: the first counts":      {[]string{sign(previous, anEvent), sign(current, anEvent)}, previous},
		"both in one value":           {[]string{sign(current, anEvent) + "," + sign(previous, anEvent)}, current},
		"a foreign one and previous":  {[]string{sign(foreign, anEvent), sign(previous, anEvent)}, previous},
		"current and then a bad one":  {[]string{sign(current, anEvent), "bad"}, current},
		"previous and then a bad one": {[]string{sign(previous, anEvent), "bad", ""}, previous},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := verified(t, row.values...)
			require.NoError(t, err)
			require.Equal(t, Signature{Text: sign(row.signer, anEvent), KeyFingerprint: newSecret(t, specification, row.signer).Fingerprint()}, got)
		})
	}
}

func TestASignatureMayBeWrittenInSeveralWays(t *testing.T) {
	t.Parallel()
	good := sign(current, anEvent)
	for name, values := range map[string][]string{
		"lower case":                  {good},
		"upper case":                  {strings.ToUpper(good)},
		"spaces around":               {"  " + good + "\t "},
		"prefix":                      {"sha256=" + good},
		"prefix in upper case":        {" SHA256=" + strings.ToUpper(good)},
		"twice":                       {good, good},
		"twice in one value":          {good + "," + good},
		"eight, the last right":       {"", "a", "b", "c", "d", "e", "f", good},
		"eight in one value":          {"a,b,c,d,e,f,g, sha256=" + good},
		"a prefix of another's first": {"sha512=" + good, good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := verified(t, values...)
			require.NoError(t, err)
			require.Equal(t, good, got.Text, "as the log keeps it: plain lower-case hex")
		})
	}
}

func TestAForgedSignatureIsRefusedWithTheSameError(t *testing.T) {
	t.Parallel()
	for _, values := range forged() {
		_, err := verified(t, values...)
		require.Equal(t, ErrSignature, err, values)
	}
	_, err := verified(t)
	require.Equal(t, ErrNoSignature, err)
}

// forged are the values of headers that are no signatures of the event.
func forged() [][]string {
	good := sign(current, anEvent)
	return [][]string{
		{""},
		{"sha256="},
		{"sha256=sha256=" + good},
		{"sha512=" + good},
		{good[:62]},
		{good[:63]},
		{good + "00"},
		{good[:32] + " " + good[32:]},
		{good + ";" + good},
		{strings.Repeat("z", 64)},
		{strings.Repeat("0", 64)},
		{sign(current, anEvent+" ")},
		{sign(foreign, anEvent)},
		{sign("", anEvent)},
		{good, "a", "b", "c", "d", "e", "f", "g", "h"},
		{good, good, good, good, good, good, good, good, good},
		{good + strings.Repeat(","+good, 8)},
		{good + strings.Repeat(",", 8)},
	}
}

func TestWithoutASecretNothingVerifies(t *testing.T) {
	t.Parallel()
	header := http.Header{"Provider-Signature": {sign(current, anEvent), sign("", anEvent), ""}}
	_, err := specification.Verify(header, []byte(anEvent), nil, now)
	require.Equal(t, ErrSignature, err)
}

// A delivery of Standard Webhooks, as its specification says it is signed.
type standardDelivery struct {
	id, at, key, body string
	header            http.Header
}

const keyOfCreem = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newStandardDelivery(t *testing.T, changes ...func(*standardDelivery)) standardDelivery {
	t.Helper()
	d := standardDelivery{id: "msg_1", at: strconv.FormatInt(now.Unix(), 10), key: keyOfCreem, body: anEvent}
	for _, change := range changes {
		change(&d)
	}
	key, err := base64.StdEncoding.DecodeString(d.key)
	require.NoError(t, err)
	signature := base64.StdEncoding.EncodeToString(macOf(key, d.id+"."+d.at+"."+d.body))
	d.header = http.Header{"Webhook-Id": {d.id}, "Webhook-Timestamp": {d.at}, "Webhook-Signature": {"v1," + signature}}
	return d
}

// The vector of the reference implementations of Standard Webhooks.
func TestAStandardSignatureIsThatOfTheReference(t *testing.T) {
	t.Parallel()
	header := http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}
	got, err := creem.Verify(header, []byte(`{"test": 2432232314}`), []Secret{newSecret(t, creem, "whsec_"+keyOfCreem)}, time.Unix(1614265330, 0))
	require.NoError(t, err)
	require.Equal(t, "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330", got.Signed)
}

func TestASignedTimeMustBeWithinFiveMinutes(t *testing.T) {
	t.Parallel()
	secrets := []Secret{newSecret(t, creem, "whsec_"+keyOfCreem)}
	for after, want := range map[time.Duration]error{
		0: nil, 5 * time.Minute: nil, -5 * time.Minute: nil,
		5*time.Minute + time.Second: ErrTimestamp, -5*time.Minute - time.Second: ErrTimestamp, 24 * time.Hour: ErrTimestamp,
	} {
		d := newStandardDelivery(t)
		got, err := creem.Verify(d.header, []byte(d.body), secrets, now.Add(after))
		require.Equal(t, want, err, after)
		if want != nil {
			require.Empty(t, got)
			continue
		}
		require.Equal(t, []string{"msg_1", "msg_1." + d.at, secrets[0].Fingerprint()}, []string{got.EventID, got.Signed, got.KeyFingerprint})
		m := events.Message{Provider: "creem", Body: []byte(d.body), Signature: got.Text, Signed: got.Signed, KeyFingerprint: got.KeyFingerprint}
		require.NoError(t, Secrets{"creem": secrets}.Check(m), "also when the time is long past")
		m.Signed = "msg_2." + d.at
		require.Equal(t, ErrDoesNotMatch, Secrets{"creem": secrets}.Check(m))
	}
}

// A signature that does not match must not say that only its time is wrong.
func TestAForgedTimeIsAForgedSignature(t *testing.T) {
	t.Parallel()
	secrets := []Secret{newSecret(t, creem, "whsec_"+keyOfCreem)}
	for name, spoil := range map[string]func(http.Header){
		"another time":     func(h http.Header) { h["Webhook-Timestamp"] = []string{strconv.FormatInt(now.Unix()+1, 10)} },
		"a time long past": func(h http.Header) { h["Webhook-Timestamp"] = []string{"1"} },
		"no time":          func(h http.Header) { delete(h, "Webhook-Timestamp") },
		"an empty time":    func(h http.Header) { h["Webhook-Timestamp"] = []string{""} },
		"two times": func(h http.Header) {
			h["Webhook-Timestamp"] = append(h["Webhook-Timestamp"], h["Webhook-Timestamp"]...)
		},
		"a time with a sign": func(h http.Header) { h["Webhook-Timestamp"] = []string{"+" + h["Webhook-Timestamp"][0]} },
		"another id":         func(h http.Header) { h["Webhook-Id"] = []string{"msg_2"} },
		"no id":              func(h http.Header) { delete(h, "Webhook-Id") },
		"two ids":            func(h http.Header) { h["Webhook-Id"] = []string{"msg_1", "msg_1"} },
		"another version":    func(h http.Header) { h["Webhook-Signature"][0] = "v2" + h["Webhook-Signature"][0][2:] },
		"no version":         func(h http.Header) { h["Webhook-Signature"][0] = h["Webhook-Signature"][0][3:] },
		"two headers": func(h http.Header) {
			h["Webhook-Signature"] = append(h["Webhook-Signature"], h["Webhook-Signature"]...)
		},
		"nine signatures": func(h http.Header) {
			h["Webhook-Signature"][0] = strings.TrimSpace(strings.Repeat(h["Webhook-Signature"][0]+" ", 9))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newStandardDelivery(t)
			spoil(d.header)
			_, err := creem.Verify(d.header, []byte(d.body), secrets, now)
			require.Equal(t, ErrSignature, err)
		})
	}
}

func TestOfSeveralStandardSignaturesOneMustMatch(t *testing.T) {
	t.Parallel()
	d := newStandardDelivery(t)
	good := d.header["Webhook-Signature"][0]
	d.header["Webhook-Signature"][0] = "v1a,abc v1," + base64.StdEncoding.EncodeToString(make([]byte, 32)) + " " + good
	got, err := creem.Verify(d.header, []byte(d.body), []Secret{newSecret(t, creem, "whsec_"+keyOfCreem)}, now)
	require.NoError(t, err)
	require.Equal(t, good, "v1,"+got.Text)
}

func TestTheHeadersOfAnotherProviderAreNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Creem-Signature", "Webhook-Signature", "Payfold-Signature"} {
		header := http.Header{name: {"ab"}, "Content-Type": {"application/json"}}
		require.Equal(t, name, specification.ForeignHeader(header))
		_, err := specification.Verify(header, []byte(anEvent), []Secret{newSecret(t, specification, current)}, now)
		require.Equal(t, ErrNoSignature, err)
	}
	require.Empty(t, specification.ForeignHeader(http.Header{"Signature": {"ab"}}))
}

// What Sign writes, Verify accepts, and Check accepts again.
func TestEveryProviderVerifiesWhatItSigns(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			body := []byte(anEvent)
			secret, other := newSecret(t, p, "whsec_"+keyOfCreem), newSecret(t, p, "whsec_"+base64.StdEncoding.EncodeToString([]byte("another key")))
			header := p.Sign(secret, "msg_1", body, now)
			require.NotEmpty(t, header.Get(p.SignatureHeader()))
			got, err := p.Verify(header, body, []Secret{other, secret}, now)
			require.NoError(t, err)
			m := events.Message{Provider: p.Name(), ID: "msg_1", Body: body, Signature: got.Text, Signed: got.Signed, KeyFingerprint: got.KeyFingerprint}
			require.NoError(t, Secrets{p.Name(): {other, secret}}.Check(m))
			require.Equal(t, ErrUnknownKey, Secrets{p.Name(): {other}}.Check(m))
			m.KeyFingerprint = other.Fingerprint()
			require.Equal(t, ErrOtherKey, Secrets{p.Name(): {other, secret}}.Check(m))
			_, err = p.Verify(header, body, []Secret{other}, now)
			require.Equal(t, ErrSignature, err)
			_, err = p.Verify(header, []byte(anEvent+" "), []Secret{secret}, now)
			require.Equal(t, ErrSignature, err)
		})
	}
}

func TestTheIDOfAHeaderIsTheOneThatWasSigned(t *testing.T) {
	t.Parallel()
	secret := newSecret(t, polar, "whsec_"+base64.StdEncoding.EncodeToString([]byte(current)))
	body := []byte(`{"type":"order.paid","data":{}}`)
	signature, err := polar.Verify(polar.Sign(secret, "msg_1", body, now), body, []Secret{secret}, now)
	require.NoError(t, err)
	m := events.Message{ID: "msg_1", Body: body, Signed: signature.Signed, Signature: signature.Text}
	require.True(t, polar.Signed(secret, m))
	m.ID = "msg_2"
	require.False(t, polar.Signed(secret, m), "another event would be taken for a duplicate of it")
}

// Such an id would be another one each time that CleanID reads it.
func TestAnIDOfAHeaderThatLooksLikeAHashIsRefused(t *testing.T) {
	t.Parallel()
	secret := newSecret(t, polar, current)
	body := []byte(`{"type":"order.paid","data":{}}`)
	_, err := polar.Verify(polar.Sign(secret, "sha256:1", body, now), body, []Secret{secret}, now)
	require.ErrorIs(t, err, ErrSignature)
}
