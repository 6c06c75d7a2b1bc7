package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/webhook"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection with unread bytes for half a second, longer than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

const (
	current  = "whsec_current_8c1f5be0"
	previous = "whsec_previous_41d20a7e"
	foreign  = "whsec_current_8c1f5be1"
	limit    = 1000
	event    = `{"id":"evt_1","eventType":"checkout.completed","object":{}}`
	accepted = `{"status":"accepted","id":"evt_1"}` + "\n"
)

// sign does not use the package's own Sign.
func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// scriptedLog answers as the test says, and records the deliveries.
type scriptedLog struct {
	answer func(ctx context.Context, d events.Delivery) (duplicate bool, err error)
	mu     sync.Mutex
	asked  []events.Delivery
}

func (l *scriptedLog) Append(ctx context.Context, d events.Delivery) (bool, error) {
	l.mu.Lock()
	l.asked = append(l.asked, d)
	l.mu.Unlock()
	if l.answer == nil {
		return false, nil
	}
	return l.answer(ctx, d)
}

func (l *scriptedLog) deliveries() []events.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]events.Delivery(nil), l.asked...)
}

// world is one server on a listener of its own.
type world struct {
	t           *testing.T
	config      webhook.Config
	registry    *prometheus.Registry
	log         *scriptedLog
	handler     *webhook.Handler
	connections int                             // how many may be open at once
	timeout     time.Duration                   // replaces the server's timeouts for headers, bodies and idle connections, unless zero
	readTimeout time.Duration                   // replaces the server's ReadTimeout, unless zero
	wrap        func(http.Handler) http.Handler // wraps the handler, unless nil
	addr        string
	client      *http.Client
}

func config(registry *prometheus.Registry) webhook.Config {
	return webhook.Config{
		Secrets:      specification.Secrets(current, previous),
		MaxBodyBytes: limit, MaxInFlight: 64, PublishTimeout: wait.Timeout,
		Logger: slog.New(slog.DiscardHandler), Registerer: registry,
	}
}

func setup(t *testing.T, changes ...func(*world)) *world {
	t.Helper()
	registry := prometheus.NewRegistry()
	transport := &http.Transport{DisableCompression: true}
	w := &world{t: t, config: config(registry), registry: registry, log: &scriptedLog{}, connections: 1000, client: &http.Client{
		Transport: transport, Timeout: wait.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, change := range changes {
		change(w)
	}
	w.handler = webhook.New(w.config, w.log)
	var handler http.Handler = w.handler
	if w.wrap != nil {
		handler = w.wrap(handler)
	}
	server := webhook.NewServer(handler, w.config.Logger)
	if w.timeout != 0 {
		server.ReadTimeout, server.ReadHeaderTimeout, server.IdleTimeout = w.timeout, w.timeout, w.timeout
	}
	if w.readTimeout != 0 {
		server.ReadTimeout = w.readTimeout
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener := webhook.Listen(inner, w.connections, w.registry)
	w.addr = listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return w
}

// request is a delivery that a test can change before it is sent.
type request struct {
	method, path, body string
	header             http.Header
}

func delivery(body string) *request {
	return &request{method: http.MethodPost, path: specification.Path, body: body, header: http.Header{
		"Content-Type": {"application/json"}, specification.SignatureHeader: {sign(current, body)},
	}}
}

type reply struct {
	status int
	header http.Header
	body   string
	closes bool // the connection
}

func (w *world) send(r *request) reply {
	w.t.Helper()
	asked, err := http.NewRequest(r.method, "http://"+w.addr+r.path, bytes.NewReader([]byte(r.body)))
	require.NoError(w.t, err)
	asked.Header = r.header
	got, err := w.client.Do(asked)
	require.NoError(w.t, err)
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	require.NoError(w.t, err)
	return reply{got.StatusCode, got.Header, string(body), got.Close}
}
