package archive

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	segments prometheus.Counter
	bytes    prometheus.Counter
	failures prometheus.Counter
	faults   prometheus.Gauge
}

// newMetrics registers the metrics. Each scrape reads some of them from state. The lag grows while
// nothing happens.
func newMetrics(registerer prometheus.Registerer, state func() State) *metrics {
	with := promauto.With(registerer)
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "payfold_archive_lag_messages", Help: "Messages of the log that are not in the archive.",
	}, func() float64 { return float64(state().LagMessages) })
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "payfold_archive_lag_seconds",
		Help: "Age of the oldest message that is not in the archive; 0 if there is none, at least the time for which it cannot be read.",
	}, func() float64 { return state().LagSeconds })
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "payfold_archive_contradiction", Help: "1 if the archive contradicts the log: nothing is written to it.",
	}, func() float64 {
		if state().Contradicts {
			return 1
		}
		return 0
	})
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
	}
}
