package providers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASecretPrintsAsRedacted(t *testing.T) {
	t.Parallel()
	secret := newSecret(t, specification, current)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, "[redacted]", fmt.Sprintf(format, secret), format)
		require.Equal(t, "[redacted]", fmt.Sprintf(format, &secret), format)
	}
	secrets := Secrets{"provider": {secret}}
	for name, printed := range map[string]string{
		"print":      fmt.Sprint(secret),
		"println":    fmt.Sprintln(secret),
		"%q":         fmt.Sprintf("%q", secret),
		"secrets":    fmt.Sprintf("%v", secrets),
		"secrets +v": fmt.Sprintf("%+v", secrets),
		"secrets #v": fmt.Sprintf("%#v", secrets),
		"error":      fmt.Errorf("with %v: %w", secret, errors.ErrUnsupported).Error(),
	} {
		require.Contains(t, printed, "[redacted]", name)
		require.NotContains(t, printed, current, name)
	}
}

func TestASecretIsLoggedAndMarshalledAsRedacted(t *testing.T) {
	t.Parallel()
	secret := newSecret(t, specification, current)
	nested := struct {
		Secret  Secret
		Secrets []Secret
	}{secret, []Secret{secret}}

	text, err := json.Marshal(nested)
	require.NoError(t, err)
	require.JSONEq(t, `{"Secret":"[redacted]","Secrets":["[redacted]"]}`, string(text))

	require.Equal(t, slog.StringValue("[redacted]"), slog.AnyValue(secret).Resolve(), "whatever the handler")
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("", "one", secret, "pointer", &secret, "nested", nested)
	}
	require.Equal(t, 8, strings.Count(out.String(), "[redacted]"), out.String())
	require.NotContains(t, out.String(), current)
}

func TestFingerprintsTellSecretsApartAndGiveNothingAway(t *testing.T) {
	t.Parallel()
	print := newSecret(t, specification, current).Fingerprint()
	require.Regexp(t, `^[0-9a-f]{16}$`, print)
	require.Equal(t, print, newSecret(t, specification, current).Fingerprint())
	require.NotEqual(t, print, newSecret(t, specification, previous).Fingerprint())
	require.NotEqual(t, print, sign(current, "")[:16])
}

// HMAC pads a key with NULs, so anybody could sign for such a secret.
func TestABase64SecretOfNULsIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"whsec_", "whsec_AA==", "whsec_AAAA", "AAAAAAAA"} {
		_, err := dodo.NewSecret(text)
		require.Error(t, err, text)
		for _, p := range []*Provider{creem, polar} {
			secret := newSecret(t, p, text)
			before := note{id: "msg_1", before: "msg_1." + strconv.FormatInt(now.Unix(), 10)}
			mac := macOf(nil, before.before+"."+anEvent)
			header := p.schemes[0].sign(before, base64.StdEncoding.EncodeToString(mac))
			_, err := p.Verify(header, []byte(anEvent), []Secret{secret}, now)
			require.ErrorIs(t, err, ErrSignature, text)
		}
	}
}
