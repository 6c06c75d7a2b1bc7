package webhook

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/minutes"
	"github.com/payfold/payfold/internal/providers"
)

type metrics struct {
	deliveries *prometheus.CounterVec
	duration   prometheus.Histogram
	inFlight   prometheus.Gauge
	stored     *stored
	clockAhead *prometheus.CounterVec

	evictedBodies prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, served ...string) *metrics {
	with := promauto.With(registerer)
	m := &metrics{
		deliveries: with.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_webhook_deliveries_total", Help: "Deliveries, by answer and by the reason of a refusal.",
		}, []string{"answer", "reason"}),
		duration: with.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_webhook_delivery_duration_seconds", Help: "Time from a delivery's header to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		}),
		inFlight: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_webhook_in_flight", Help: "Signed deliveries that are being stored.",
		}),
		stored: newStored(served...),
		clockAhead: with.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_webhook_clock_ahead_total",
			Help: "Deliveries of events that are more than a minute ahead of ingest's clock, by provider.",
		}, []string{"provider"}),
		evictedBodies: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_webhook_evicted_bodies_total", Help: "Large bodies evicted before their end to make room for others.",
		}),
	}
	registerer.MustRegister(m.stored)
	for _, a := range answers {
		m.deliveries.WithLabelValues(a.name, a.reason)
	}
	return m
}

// observe counts an answer. provider is nil if the delivery's path is no provider's; then the answer confirms nothing.
func (m *metrics) observe(a answer, provider *providers.Provider, began time.Time) {
	now := time.Now()
	m.deliveries.WithLabelValues(a.name, a.reason).Inc()
	m.duration.Observe(now.Sub(began).Seconds())
	switch {
	case a.confirmed():
		m.stored.confirm(provider.Name(), began, now)
	case a.refusesEvent(), a.doubtsSignature():
		m.stored.refuse(provider.Name(), began, a.refusesEvent())
	}
}

// Minute counts the answers of one minute by name. The names are the values of the label answer of
// payfold_webhook_deliveries_total.
type Minute struct {
	Begin   time.Time         `json:"minute"`
	Answers map[string]uint64 `json:"answers"`
}

// recent counts the answers of the last hour. Safe for concurrent use.
type recent struct {
	mu      sync.Mutex
	answers minutes.Ring[map[string]uint64]
}

func (r *recent) count(answer string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := r.answers.At(at)
	if *answers == nil {
		*answers = map[string]uint64{}
	}
	(*answers)[answer]++
}

func (r *recent) last(now time.Time) []Minute {
	out := []Minute{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, minute := range r.answers.Last(now) {
		out = append(out, Minute{minute.Begin, maps.Clone(minute.Value)})
	}
	return out
}

// Recent returns the answers of the last hour by minute, oldest first; the present minute is the last one. Minutes
// without an answer are left out.
func (h *Handler) Recent(now time.Time) []Minute { return h.recent.last(now) }
