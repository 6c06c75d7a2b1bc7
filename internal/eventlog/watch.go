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

// checkInterval is the time between two checks of the stream. It bounds how long appends
// are still confirmed after an administrator has made the stream unsafe.
const checkInterval = time.Second

// Watch checks the stream regularly for the process that writes it. It logs how durable a
// confirmed event is, or why no event is confirmed.
type Watch struct {
	log       *Log
	logger    *slog.Logger
	logged    string // the last message about durability, with its value
	replicas  prometheus.Gauge
	oneServer prometheus.Gauge
	faults    prometheus.Gauge
	messages  prometheus.Gauge
	bytes     prometheus.Gauge
}

// NewWatch registers its metrics.
func NewWatch(log *Log, logger *slog.Logger, registerer prometheus.Registerer) *Watch {
	with := promauto.With(registerer)
	return &Watch{
		log: log, logger: logger,
		replicas: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_replicas", Help: "Replicas of the stream; 0 until the server has answered.",
		}),
		oneServer: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_one_server",
			Help: "1 if the only replica is on a server that payfold did not start: a power cut may lose events that were answered 200.",
		}),
		faults: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_unsafe_settings", Help: "Settings with which the stream could lose events; above 0 every delivery is answered 503.",
		}),
		messages: with.NewGauge(prometheus.GaugeOpts{Name: "payfold_log_messages", Help: "Messages that the log's server has."}),
		bytes:    with.NewGauge(prometheus.GaugeOpts{Name: "payfold_log_bytes", Help: "Bytes of these messages, as the server stores them."}),
	}
}

// Run blocks until ctx ends (it returns nil) or the committer has failed (it returns the
// reason). After such a failure every append fails, and only a new process can find out
// what is durable.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		w.check(ctx)
		select {
		case <-w.log.committer.Broken():
			return w.log.committer.Failure()
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *Watch) check(ctx context.Context) {
	info, err := w.log.readState(ctx)
	if ctx.Err() != nil {
		return
	}
	var unsafe *UnsafeError
	if err == nil || errors.As(err, &unsafe) {
		w.replicas.Set(float64(info.Replicas))
		w.messages.Set(float64(info.Messages))
		w.bytes.Set(float64(info.Bytes))
		w.oneServer.Set(0)
		if info.Durability == OneServer {
			w.oneServer.Set(1)
		}
		w.faults.Set(0)
	}
	switch {
	case unsafe != nil:
		w.faults.Set(float64(len(unsafe.Settings)))
		w.logChange(ctx, slog.LevelError, "no delivery is confirmed", "error", err.Error())
	case err != nil:
		w.logChange(ctx, slog.LevelWarn, "no delivery is confirmed", "error", err.Error())
	case info.Durability == OneServer:
		w.logChange(ctx, slog.LevelWarn, "200 means: acknowledged by one server that may not have synced it; a power cut there may lose it; "+
			"use three replicas, or set sync_interval: always on that server", "replicas", strconv.Itoa(info.Replicas))
	case info.Durability == Quorum:
		w.logChange(ctx, slog.LevelInfo, "200 means: acknowledged by a quorum of the replicas; a power cut of all replicas at once may lose it unless they set sync_interval: always",
			"replicas", strconv.Itoa(info.Replicas))
	default:
		w.logChange(ctx, slog.LevelInfo, "200 means: fsynced to this machine's disk", "replicas", strconv.Itoa(info.Replicas))
	}
}

// logChange logs the message if it differs from the last one.
func (w *Watch) logChange(ctx context.Context, level slog.Level, message, name, value string) {
	if line := message + value; line != w.logged {
		w.logged = line
		w.logger.Log(ctx, level, message, name, value)
	}
}
