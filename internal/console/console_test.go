package console_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(testenv.QuickLogins(m))) }

// everybody may look.
type everybody struct{}

func (everybody) Protect(pages http.Handler) http.Handler { return pages }

// serve returns a console over the log of a shop, all of which is applied.
func serve(t *testing.T, change func(*console.Config)) (*httptest.Server, *world.World) {
	t.Helper()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 100)
	t.Cleanup(func() { require.NoError(t, stop()) })
	config := console.Config{Log: w.Log, Tables: w.Open(ctx, t, "portal"), Guard: everybody{}, Version: "test", Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	server := httptest.NewServer(console.New(config).Handler())
	t.Cleanup(server.Close)
	return server, w
}

func get(t *testing.T, server *httptest.Server, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := server.Client().Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(text)
}

func TestEveryPageHasAStrictPolicy(t *testing.T) {
	server, _ := serve(t, nil)
	for _, path := range []string{"/projectors", "/nothing", "/events/unknown", "/static/style.css", "/static/console.js"} {
		answer, text := get(t, server, path)
		require.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), path)
		require.NotContains(t, text, "<script>", path)
		require.NotContains(t, text, " style=", path)
		require.NotRegexp(t, `(src|href)="(https?:)?//`, text, path)
	}
}

func TestNothingWrites(t *testing.T) {
	server, _ := serve(t, nil)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/projectors", strings.NewReader("x"))
		require.NoError(t, err)
		answer, err := server.Client().Do(request)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode, method)
	}
}
