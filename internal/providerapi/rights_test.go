package providerapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/golden"
)

// names lists the rights that a key needs for these paths, in the order of the list, each once. It fails the test if a
// path needs one that the list lacks.
func names(t *testing.T, list []right, paths []string) (out []string) {
	t.Helper()
	needed := map[string]bool{}
	for _, path := range paths {
		i := slices.IndexFunc(list, func(r right) bool { return strings.HasPrefix(path, r.path) })
		require.GreaterOrEqual(t, i, 0, "no right is named for %s", path)
		needed[list[i].path] = true
	}
	for _, r := range list {
		require.True(t, needed[r.path], "no request needs %s for %s", r.name, r.path)
		if !slices.Contains(out, r.name) {
			out = append(out, r.name)
		}
	}
	return out
}

// askedForEvents returns the paths that are asked for to get a provider's events.
func askedForEvents(t *testing.T, provider string) (paths []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, http.MethodGet, r.Method)
		paths = append(paths, r.URL.Path)
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	key, err := NewKey("key")
	require.NoError(t, err)
	client, err := New(Config{Provider: provider, URL: server.URL, Key: key})
	require.NoError(t, err)
	defer client.Close()
	for _, err := range client.Events(context.Background(), time.Now().Add(-time.Hour)) {
		require.ErrorContains(t, err, "lacks the right "+rightOf(provider, paths[0]))
	}
	return paths
}

func TestTheRightsThatAKeyNeedsArePrinted(t *testing.T) {
	var table strings.Builder
	table.WriteString("| provider | variable | for `ingest pull` | for `projector reconcile` |\n|---|---|---|---|\n")
	for _, provider := range Names() {
		variable, of := strings.ToUpper(provider)+"_API_KEY", rightsByProvider[provider]
		if of.events == nil {
			table.WriteString("| `" + provider + "` | `" + variable + "` | its keys have no rights to choose | the same |\n")
			continue
		}
		var objects []string
		for _, list := range objectsByProvider[provider].lists {
			objects = append(objects, list.path)
		}
		for _, find := range objectsByProvider[provider].finds {
			objects = append(objects, find.path)
		}
		cell := func(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
		table.WriteString("| `" + provider + "` | `" + variable + "` | " + cell(names(t, of.events, askedForEvents(t, provider))) +
			" | " + cell(names(t, of.objects, objects)) + " |\n")
	}
	golden.RequirePrinted(t, "../../docs/providers.md", "rights", table.String())
}
