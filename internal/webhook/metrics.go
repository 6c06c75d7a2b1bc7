package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	deliveries *prometheus.CounterVec
	duration   prometheus.Histogram
	inFlight   prometheus.Gauge

	evictedBodies prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	with := promauto.With(registerer)
	return &metrics{
		deliveries: with.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_webhook_deliveries_total", Help: "Deliveries, by answer.",
		}, []string{"answer"}),
		duration: with.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_webhook_delivery_duration_seconds", Help: "Time from a delivery's header to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		}),
		inFlight: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_webhook_in_flight", Help: "Signed deliveries that are being stored.",
		}),
		evictedBodies: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_webhook_evicted_bodies_total", Help: "Large bodies given up before their end to make room for others.",
		}),
	}
}

func (m *metrics) observe(answer string, began time.Time) {
	m.deliveries.WithLabelValues(answer).Inc()
	m.duration.Observe(time.Since(began).Seconds())
}
