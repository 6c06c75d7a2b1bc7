package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is one admin listener; its program says through ready how it is.
type world struct {
	t      *testing.T
	addr   string
	url    string
	client *http.Client
}

func setup(t *testing.T, ready func(context.Context) error) *world {
	t.Helper()
	admin, err := telemetry.NewAdmin("127.0.0.1:0", telemetry.NewRegistry(telemetry.Build{Version: "v1.2.3", Commit: "a831a06f", GoVersion: "go1.26.8"}), ready, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- admin.Run(ctx) }()
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		require.NoError(t, <-ended)
	})
	return &world{t, admin.Addr(), "http://" + admin.Addr(), &http.Client{Transport: transport, Timeout: wait.Timeout}}
}

func (w *world) get(path string) (status int, body string) {
	w.t.Helper()
	got, err := w.client.Get(w.url + path)
	require.NoError(w.t, err)
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	require.NoError(w.t, err)
	return got.StatusCode, string(text)
}

func fine(context.Context) error { return nil }

func TestAProgramThatCanWorkIsReady(t *testing.T) {
	t.Parallel()
	w := setup(t, fine)
	for _, path := range []string{"/livez", "/readyz"} {
		status, body := w.get(path)
		require.Equal(t, http.StatusOK, status, path)
		require.Equal(t, "ok\n", body, path)
	}
	_, metrics := w.get("/metrics")
	require.Contains(t, metrics, "\npayfold_ready 1\n")
}

func TestAProgramThatCannotWorkSaysWhyAndLives(t *testing.T) {
	t.Parallel()
	w := setup(t, func(context.Context) error { return errors.New("the stream is missing") })
	status, body := w.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "the stream is missing\n", body)
	status, _ = w.get("/livez")
	require.Equal(t, http.StatusOK, status)
	_, metrics := w.get("/metrics")
	require.Contains(t, metrics, "\npayfold_ready 0\n")
}

func TestReadinessIsAskedWithADeadline(t *testing.T) {
	t.Parallel()
	deadlines := make(chan time.Time, 1)
	w := setup(t, func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		deadlines <- deadline
		return nil
	})
	began := time.Now()
	w.get("/readyz")
	require.WithinRange(t, <-deadlines, began, time.Now().Add(2*time.Second))
}

func TestOperatorsSeeMetricsAndProfiles(t *testing.T) {
	t.Parallel()
	w := setup(t, fine)
	for path, want := range map[string]string{
		"/metrics":                       `payfold_build_info{commit="a831a06f",go_version="go1.26.8",version="v1.2.3"} 1`,
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile:",
		"/debug/pprof/cmdline":           "telemetry",
		"/debug/pprof/symbol":            "num_symbols",
	} {
		status, body := w.get(path)
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, body, want, path)
	}
	_, metrics := w.get("/metrics")
	require.Contains(t, metrics, "go_goroutines ")
	require.Contains(t, metrics, "process_")
	status, _ := w.get("/")
	require.Equal(t, http.StatusNotFound, status)
	posted, err := w.client.Post(w.url+"/metrics", "text/plain", http.NoBody)
	require.NoError(t, err)
	require.NoError(t, posted.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, posted.StatusCode)
}

func TestMetricsAreOpenMetricsWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	w := setup(t, fine)
	request, err := http.NewRequest(http.MethodGet, w.url+"/metrics", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	got, err := w.client.Do(request)
	require.NoError(t, err)
	defer func() { _ = got.Body.Close() }()
	require.Contains(t, got.Header.Get("Content-Type"), "application/openmetrics-text")
	text, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(text), "\n# EOF\n"), "%s", text)
}

func TestAnAddressInUseIsAnError(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	_, err = telemetry.NewAdmin(taken.Addr().String(), telemetry.NewRegistry(telemetry.Build{}), fine, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "listen for operators")
}
