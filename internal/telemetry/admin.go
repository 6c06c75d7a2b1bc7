package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Admin is the HTTP server for operators: /livez, /readyz, /metrics, /debug/pprof. It has no
// authentication. By default it listens only on the loopback interface.
type Admin struct {
	listener net.Listener
	server   *http.Server
	mux      *http.ServeMux
}

const (
	readyTimeout    = 2 * time.Second // about as long as the probe of an orchestrator waits
	shutdownTimeout = time.Second
)

// NewAdmin starts to listen; port 0 means any free port, and the log names it. ready returns why
// the program cannot do its work now, or nil. NewAdmin registers the metric of NewReady.
func NewAdmin(addr string, registry *prometheus.Registry, ready func(context.Context) error, logger *slog.Logger) (*Admin, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for operators: %w", err)
	}
	logger.Info("health and metrics are served", "admin_addr", listener.Addr().String())
	registry.MustRegister(NewReady(ready))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := within(r.Context(), ready); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return &Admin{listener: listener, mux: mux, server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}}, nil
}

func within(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return ready(ctx)
}

// NewReady returns the metric that says what /readyz says.
func NewReady(ready func(context.Context) error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "payfold_ready", Help: "1 if the program can do its work now, as /readyz says; else 0.",
	}, func() float64 {
		if within(context.Background(), ready) != nil {
			return 0
		}
		return 1
	})
}

// Addr is the address on which Admin listens.
func (a *Admin) Addr() string { return a.listener.Addr().String() }

// Handle serves another pattern.
func (a *Admin) Handle(pattern string, handler http.Handler) { a.mux.Handle(pattern, handler) }

// Run serves until ctx ends.
func (a *Admin) Run(ctx context.Context) error {
	return Serve(ctx, a.server, a.listener, shutdownTimeout)
}

// Serve serves until ctx ends. Then requests in flight may finish, for at most grace, and
// Serve returns nil.
func Serve(ctx context.Context, server *http.Server, listener net.Listener, grace time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(finish); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}
