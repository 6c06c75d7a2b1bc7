package providers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// A body that is sent to the path of another provider is not an event there, and the error says what it lacks.
func TestABodyOfAnotherProviderIsRefused(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, from := range All {
				for _, body := range scenarioBodies(t, from) {
					event, err := p.Parse(body, "msg_1")
					switch {
					case from == p:
						require.NoError(t, err, "%s", body)
					case err != nil:
						require.Regexp(t, `^([a-z_.]+[A-Z]?[a-z]* is missing|type is none of checkout, gift, payment, reversal, subscription)$`, err.Error(), "%s at %s: %s", from.name, p.name, body)
					case p == specification:
						require.Equal(t, "creem", from.name, "its older envelope is that of the specification")
					default: // a licence key of Dodo has all that Polar's bodies have
						require.Equal(t, polar, p)
						require.Equal(t, "dodo", from.name)
						require.Equal(t, []any{events.None, "", ""}, []any{event.Action, event.PaymentID(), event.Status}, "%s", body)
					}
				}
			}
		})
	}
}

// scenarioBodies are the bodies of all scenarios of a provider.
func scenarioBodies(t *testing.T, p *Provider) (bodies [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/" + p.name + "/*.json")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "catalogue.json") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var of struct {
			Events []struct{ Body json.RawMessage }
		}
		require.NoError(t, json.Unmarshal(text, &of))
		for _, e := range of.Events {
			bodies = append(bodies, e.Body)
		}
	}
	require.True(t, p == specification || len(bodies) > 0, p.name)
	return bodies
}
