package eventlog

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/connection"
)

// checkInterval is the time between two checks of the stream. It bounds how long appends
// are still confirmed after an administrator has made the stream unsafe.
const checkInterval = time.Second

// Watch checks the stream regularly for the process that writes it. It logs how durable a
// confirmed event is, or why no event is confirmed.
type Watch struct {
	log        *Log
	logger     *slog.Logger
	logged     string // the last message about durability, with its value
	replicas   prometheus.Gauge
	current    prometheus.Gauge
	durability *prometheus.GaugeVec
	faults     prometheus.Gauge
	messages   prometheus.Gauge
	bytes      prometheus.Gauge
}

// NewWatch registers the metrics of the log.
func NewWatch(log *Log, logger *slog.Logger, registerer prometheus.Registerer) *Watch {
	registerer.MustRegister(log.committer.appendDuration)
	if log.server == nil {
		registerer.MustRegister(connection.NewCertificate(log.conn))
	} else {
		registerer.MustRegister(log.committer.flushDuration, log.committer.groupSize, blockstore.NewDisk(log.server.store.Root()))
	}
	with := promauto.With(registerer)
	w := &Watch{
		log: log, logger: logger,
		replicas: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_replicas", Help: "Replicas of the stream; 0 until the server has answered.",
		}),
		current: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_replicas_current",
			Help: "Replicas of the stream that have what its leader has, itself among them; 0 until the server has answered.",
		}),
		durability: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_log_durability", Help: "1 for where an event is stored when it is answered 200, 0 for the others; all are 0 until the server has answered.",
		}, []string{"durability"}),
		faults: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_log_unsafe_settings", Help: "Settings with which the stream could lose events, and 1 if its server has lost some; above 0 every delivery is answered 503.",
		}),
		messages: with.NewGauge(prometheus.GaugeOpts{Name: "payfold_log_messages", Help: "Messages that the log's server has."}),
		bytes:    with.NewGauge(prometheus.GaugeOpts{Name: "payfold_log_bytes", Help: "Bytes of the messages that the log's server has, as it stores them."}),
	}
	w.setDurability("")
	return w
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
		case <-w.log.committer.broken:
			return w.log.committer.failure()
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
		w.current.Set(float64(info.Current))
		w.messages.Set(float64(info.Messages))
		w.bytes.Set(float64(info.Bytes))
		w.setDurability(info.Durability)
		faults := 0
		if unsafe != nil {
			faults = len(unsafe.Settings)
		}
		w.faults.Set(float64(faults)) // once, so that no scrape sees a value in between
	} else {
		err = w.log.timedOut(err)
	}
	switch {
	case unsafe != nil:
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

// setDurability sets each value once.
func (w *Watch) setDurability(now Durability) {
	for _, d := range []Durability{Fsynced, Quorum, OneServer} {
		value := 0.0
		if d == now {
			value = 1
		}
		w.durability.WithLabelValues(string(d)).Set(value)
	}
}

// logChange logs the message if it differs from the last one.
func (w *Watch) logChange(ctx context.Context, level slog.Level, message, name, value string) {
	if line := message + value; line != w.logged {
		w.logged = line
		w.logger.Log(ctx, level, message, name, value)
	}
}

// commitMetrics measure what a committer does. NewWatch registers them.
type commitMetrics struct {
	appendDuration prometheus.Histogram // of successful appends
	flushDuration  prometheus.Histogram // of the embedded log; a cluster's servers flush
	groupSize      prometheus.Histogram // of the embedded log
}

func newCommitMetrics() commitMetrics {
	return commitMetrics{
		appendDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_log_append_duration_seconds", Help: "Time from the append of a message until it is durable.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17),
		}),
		flushDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_log_flush_duration_seconds", Help: "Time of one flush (fsync) of the embedded log.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17),
		}),
		groupSize: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_log_group_size", Help: "Messages that share one flush of the embedded log, duplicates included.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
	}
}
