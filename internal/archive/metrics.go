package archive

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	segments      prometheus.Counter
	bytes         prometheus.Counter
	failures      prometheus.Counter
	faults        prometheus.Gauge
	contradiction prometheus.Gauge
}

// newMetrics registers the metrics. Each scrape reads the lag from state, because it grows while
// nothing happens.
func newMetrics(registerer prometheus.Registerer, state func() State) *metrics {
	with := promauto.With(registerer)
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "payfold_archive_lag_messages", Help: "Messages of the log that are not in the archive.",
	}, func() float64 { return float64(state().LagMessages) })
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "payfold_archive_lag_seconds",
		Help: "Age of the oldest message that is not in the archive; 0 if there is none. While the archive cannot be read or does not answer, at least the time since then.",
	}, func() float64 { return state().LagSeconds })
	return &metrics{
		segments: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_archive_segments_total", Help: "Segments written.",
		}),
		bytes: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_archive_bytes_total", Help: "Bytes of the segments written.",
		}),
		failures: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_archive_failures_total", Help: "Attempts to archive that failed; each is repeated.",
		}),
		faults: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_archive_damaged", Help: "Damaged or missing segments.",
		}),
		contradiction: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_archive_contradiction", Help: "1 if the archive contradicts the log: nothing is written to it.",
		}),
	}
}

// warnBehind runs until ctx ends. It warns once each time the archive has fallen behind the log.
func (a *Archiver) warnBehind(ctx context.Context) {
	ticker := time.NewTicker(a.PollInterval)
	defer ticker.Stop()
	for warned := false; ; {
		state := a.State()
		behind := state.LagSeconds > (behindIntervals * a.Interval).Seconds()
		if behind && !warned {
			a.Logger.WarnContext(ctx, "the archive is behind the log", "messages", state.LagMessages, "seconds", int64(state.LagSeconds), "archive", a.Place.String(), "last_error", state.LastError)
		}
		warned = behind
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// failed logs a fault once, until it changes or has passed.
func (a *Archiver) failed(ctx context.Context, err error) {
	a.metrics.failures.Inc()
	contradicts := isContradiction(err)
	a.metrics.contradiction.Set(0)
	if contradicts {
		a.metrics.contradiction.Set(1)
	}
	switch {
	case !a.fault.IsNew(err):
	case contradicts, a.unsafe != nil:
		a.Logger.ErrorContext(ctx, "nothing is archived any more, and the archive stays as it is; deliveries are not affected", "archive", a.Place.String(), "error", err)
	default:
		a.Logger.WarnContext(ctx, "the archive cannot be written now; deliveries are not affected", "archive", a.Place.String(), "error", err)
	}
}

// logRecovery logs that the archive works again, if a fault was logged. The next fault is logged
// again.
func (a *Archiver) logRecovery(ctx context.Context) {
	if a.fault.Clear() {
		a.Logger.InfoContext(ctx, "the archive is written again", "archive", a.Place.String())
	}
	a.metrics.contradiction.Set(0)
}
