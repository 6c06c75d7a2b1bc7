package projector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/store"
)

type metrics struct {
	events     *prometheus.CounterVec
	batch      prometheus.Histogram
	latency    prometheus.Histogram
	position   prometheus.Gauge
	partitions prometheus.Gauge
	faults     prometheus.Counter
	poison     prometheus.Counter
	disorder   prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	make := promauto.With(registerer)
	return &metrics{
		events: make.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_projector_events_total", Help: "Events applied, by outcome and reason.",
		}, []string{"outcome", "reason"}),
		batch: make.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_projector_batch_duration_seconds", Help: "Time of one batch's transaction.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		latency: make.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_projector_visible_seconds", Help: "Time from ingest's receipt of an event to its committed row.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18),
		}),
		position: make.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_projector_position", Help: "Sequence of the newest message applied.",
		}),
		partitions: make.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_projector_partitions", Help: "Partitions this projector holds.",
		}),
		poison: make.NewCounter(prometheus.CounterOpts{
			Name: "payfold_projector_poison_total", Help: "Events found whose rows the database refuses.",
		}),
		disorder: make.NewCounter(prometheus.CounterOpts{
			Name: "payfold_projector_disorder_total",
			Help: "Events applied after a later one that shares a name with them.",
		}),
		faults: make.NewCounter(prometheus.CounterOpts{
			Name: "payfold_projector_faults_total", Help: "Times the projector had to start again from its checkpoints.",
		}),
	}
}

func (m *metrics) observe(result store.Result, began time.Time, position uint64) {
	now := time.Now()
	if len(result.Events) > 0 {
		m.batch.Observe(now.Sub(began).Seconds())
	}
	for _, e := range result.Events {
		m.events.WithLabelValues(e.Outcome, e.Reason).Inc()
		m.latency.Observe(now.Sub(e.ReceivedAt).Seconds())
	}
	m.events.WithLabelValues("duplicate_event", "").Add(float64(result.Duplicates))
	m.disorder.Add(float64(result.Disorder))
	m.position.Set(float64(position))
}
