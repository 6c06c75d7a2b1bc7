package webhook_test

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/webhook"
)

// verifies asks the handler itself: of a verified body it says 200 or 400, never 401.
func verifies(handler http.Handler, body []byte, value string) bool {
	r := httptest.NewRequest(http.MethodPost, specification.Path, strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header[specification.SignatureHeader] = []string{value}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	return recorder.Code != http.StatusUnauthorized
}

func TestOneFlippedBitNeverVerifies(t *testing.T) {
	t.Parallel()
	handler := webhook.New(config(prometheus.NewRegistry()), &scriptedLog{})
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 1, limit).Draw(t, "body")
		secret := rapid.SampledFrom([]string{current, previous}).Draw(t, "secret")
		value := sign(secret, string(body))
		require.True(t, verifies(handler, body, value))

		flip := func(b []byte, name string) []byte {
			out := append([]byte(nil), b...)
			bit := rapid.IntRange(0, len(out)*8-1).Draw(t, name)
			out[bit/8] ^= 1 << (bit % 8)
			return out
		}
		require.False(t, verifies(handler, flip(body, "bit of the body"), value))
		mac, err := hex.DecodeString(value)
		require.NoError(t, err)
		require.False(t, verifies(handler, body, hex.EncodeToString(flip(mac, "bit of the signature"))))
	})
}

// FuzzSignatureHeader: whatever the header says, only the right MAC verifies.
func FuzzSignatureHeader(f *testing.F) {
	handler := webhook.New(config(prometheus.NewRegistry()), &scriptedLog{})
	for _, body := range []string{event, "", "hello", "\xff\x00"} {
		for _, value := range []string{
			sign(current, body), sign(previous, body), sign(foreign, body), strings.ToUpper(sign(current, body)),
			"sha256=" + sign(previous, body), " \tSHA256=" + sign(current, body) + "\r\n", "sha256=", "", "=", "ſha256=" + sign(current, body),
			"sha256= " + sign(current, body), sign(current, body)[1:], strings.Repeat("0", 64), strings.Repeat("\x00", 64),
			sign(foreign, body) + ", sha256=" + sign(previous, body), strings.Repeat(",", 8) + sign(current, body),
		} {
			f.Add([]byte(body), value)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, value string) {
		if len(body) > limit {
			body = body[:limit]
		}
		said := strings.Split(strings.ToLower(value), ",")
		right := false
		for _, secret := range []string{current, previous} {
			mac := sign(secret, string(body))
			for _, one := range said {
				one = strings.TrimSpace(one)
				right = right || one == mac || one == "sha256="+mac
			}
		}
		require.Equal(t, right && len(said) <= 8, verifies(handler, body, value))
	})
}
