package webhook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/webhook"
)

func TestASecretPrintsAsRedacted(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret(current)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, "[redacted]", fmt.Sprintf(format, secret), format)
		require.Equal(t, "[redacted]", fmt.Sprintf(format, &secret), format)
	}
	for name, printed := range map[string]string{
		"print":     fmt.Sprint(secret),
		"println":   fmt.Sprintln(secret),
		"%q":        fmt.Sprintf("%q", secret),
		"config":    fmt.Sprintf("%v", webhook.Config{Secrets: []webhook.Secret{secret}}),
		"config +v": fmt.Sprintf("%+v", webhook.Config{Secrets: []webhook.Secret{secret}}),
		"config #v": fmt.Sprintf("%#v", webhook.Config{Secrets: []webhook.Secret{secret}}),
		"error":     fmt.Errorf("with %v: %w", secret, errors.ErrUnsupported).Error(),
	} {
		require.Contains(t, printed, "[redacted]", name)
		require.NotContains(t, printed, current, name)
	}
}

func TestASecretIsLoggedAndMarshalledAsRedacted(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret(current)
	nested := struct {
		Secret  webhook.Secret
		Secrets []webhook.Secret
	}{secret, []webhook.Secret{secret}}

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
