package endtoend

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
)

func TestOnlyThePathOfAProviderWithASecretIsServed(t *testing.T) {
	t.Parallel()
	w := setupProviders(t, "stripe")
	for _, p := range providers.All {
		status, answer := w.deliverTo(t, p, "msg_1", firstBody(t, p))
		if p.Name() == "stripe" {
			require.Equal(t, http.StatusOK, status, answer)
			continue
		}
		require.Equal(t, http.StatusNotFound, status, "%s: %s", p.Name(), answer)
		require.Contains(t, answer, "NAME is a provider whose secret is set")
	}
	require.EqualValues(t, 1, w.head(t))
}

// misdirected has a provider whose body is sent to the path of another one by mistake, and what that one says.
var misdirected = map[string]struct{ from, says string }{
	"provider":     {"stripe", "eventType is missing"},
	"creem":        {"paddle", "id is missing"},
	"stripe":       {"creem", "type is missing"},
	"paddle":       {"polar", "event_id is missing"},
	"polar":        {"paddle", "type is missing"},
	"dodo":         {"creem", "type is missing"},
	"lemonsqueezy": {"stripe", "meta.event_name is missing"},
	"payfold":      {"creem", "type is missing"},
}

func TestABodyOfAnotherProviderIsRefusedWithWhatItLacks(t *testing.T) {
	t.Parallel()
	w := setupProviders(t, providers.Names()...)
	for _, p := range providers.All {
		wrong := misdirected[p.Name()]
		require.NotEmpty(t, wrong, p.Name())
		status, answer := w.deliverTo(t, p, "msg_1", firstBody(t, providers.Named(wrong.from)))
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", p.Name(), answer)
		require.JSONEq(t, `{"title":"Not an event","status":400,"detail":"`+wrong.says+`"}`, answer, p.Name())
	}
	require.Zero(t, w.head(t))
}

// firstBody is a body of the provider.
func firstBody(t *testing.T, p *providers.Provider) []byte {
	t.Helper()
	s, has := readScenario(t, p, "license")
	require.True(t, has, p.Name())
	return s.Events[0].Body
}
