package eventlog

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// checkInterval bounds how long appends are confirmed after an administrator has taken
// away what they rely on.
const checkInterval = time.Second

// Watch looks after the log for the process that writes it: it asks how the stream
// stands, and says what a 200 means and why there is none.
type Watch struct {
	log       *Log
	logger    *slog.Logger
	said      string // the reason or the durability that was logged last
	replicas  prometheus.Gauge
	oneServer prometheus.Gauge
	faults    prometheus.Gauge
}

// NewWatch registers its metrics.
func NewWatch(log *Log, logger *slog.Logger, registerer prometheus.Registerer) *Watch {
	with := promauto.With(registerer)
	return &Watch{
		log: log, logger: logger,
		replicas: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_replicas", Help: "Replicas of the stream; 0 until its server has answered.",
		}),
		oneServer: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_one_server",
			Help: "1 where the only replica is on a server that payfold did not start, so that a power cut may take what was answered 200.",
		}),
		faults: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_unsafe_settings", Help: "Settings of the stream that break a promise; above 0 every delivery is answered 503.",
		}),
	}
}

// Run blocks until ctx ends (nil), or until what the log says cannot be relied on any
// longer (the reason): then every append fails, for good, and only a new process may
// find out what is durable.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		w.check(ctx)
		select {
		case <-w.log.committer.broken:
			return w.log.committer.failure()
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *Watch) check(ctx context.Context) {
	info, err := w.log.stand(ctx)
	if ctx.Err() != nil {
		return
	}
	var unsafe *UnsafeError
	if err == nil || errors.As(err, &unsafe) {
		w.replicas.Set(float64(info.Replicas))
		w.oneServer.Set(0)
		if info.Durability == OneServer {
			w.oneServer.Set(1)
		}
		w.faults.Set(0)
	}
	switch {
	case unsafe != nil:
		w.faults.Set(float64(len(unsafe.Settings)))
		w.say(ctx, slog.LevelError, "no delivery is confirmed", "error", err.Error())
	case err != nil:
		w.say(ctx, slog.LevelWarn, "no delivery is confirmed", "error", err.Error())
	case info.Durability == OneServer:
		w.say(ctx, slog.LevelWarn, "200 means: acknowledged by one server that may not have synced it; a power cut there may take it; "+
			"make three replicas, or set sync_interval: always there", "replicas", strconv.Itoa(info.Replicas))
	case info.Durability == Quorum:
		w.say(ctx, slog.LevelInfo, "200 means: acknowledged by a quorum of the replicas; a power cut of all at once is survived only with sync_interval: always",
			"replicas", strconv.Itoa(info.Replicas))
	default:
		w.say(ctx, slog.LevelInfo, "200 means: fsynced to this machine's disk", "replicas", strconv.Itoa(info.Replicas))
	}
}

// say logs what has changed.
func (w *Watch) say(ctx context.Context, level slog.Level, message, name, value string) {
	if said := message + value; said != w.said {
		w.said = said
		w.logger.Log(ctx, level, message, name, value)
	}
}
