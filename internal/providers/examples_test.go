package providers

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// Each file of examples is an event of the type that it is named after, and each provider has one for each action.
func TestTheExamplesAreEventsOfTheirProviders(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			files := filesOf(t, p)
			have, want := map[events.Action]bool{}, map[events.Action]bool{}
			for _, file := range files {
				body, err := os.ReadFile(file)
				require.NoError(t, err)
				event, err := p.Parse(body, "msg_1")
				require.NoError(t, err, file)
				if p != specification {
					require.Equal(t, strings.TrimSuffix(filepath.Base(file), ".json"), event.Type)
				}
				require.Contains(t, p.events, event.Type, file)
				require.True(t, event.HasEffect(), file)
				require.False(t, event.OccurredAt.IsZero() && p != specification, file)
				have[p.events[event.Type].action] = true
			}
			if p == specification {
				return // its bodies are Creem's
			}
			for _, m := range p.events {
				want[m.action] = true
			}
			require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have)))
		})
	}
}

// filesOf are the examples of a provider.
func filesOf(t *testing.T, p *Provider) []string {
	t.Helper()
	if p == specification {
		return []string{"../../examples/first-event.json"}
	}
	files, err := filepath.Glob("../../examples/" + p.name + "/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files, p.name)
	return files
}
