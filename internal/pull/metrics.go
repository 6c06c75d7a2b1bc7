package pull

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/providerapi"
)

// outcome is what became of a pulled event.
type outcome int

const (
	appended outcome = iota // the log lacked it
	present                 // the log had it
	refused                 // it cannot be stored
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"appended", "present", "refused"}

// Metrics are those of all pullers of a process.
type Metrics struct {
	events          *prometheus.CounterVec
	lastComplete    *prometheus.GaugeVec
	unfinishedSince *prometheus.GaugeVec
	keyRefused      *prometheus.GaugeVec
}

// NewMetrics registers the metrics; with nil they are registered nowhere.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_pull_events_total", Help: "Events that the provider's API gave: appended, present in the log already, or refused because they cannot be stored.",
		}, []string{"provider", "outcome"}),
		lastComplete: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_pull_last_complete_timestamp_seconds", Help: "When this process last began a pull that was completed; 0 if it has not yet.",
		}, []string{"provider"}),
		unfinishedSince: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_pull_unfinished_since_timestamp_seconds", Help: "Since when pulls have begun and none was completed; 0 if the newest one was.",
		}, []string{"provider"}),
		keyRefused: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_pull_key_refused", Help: "1 if the provider's API refused the key at the newest pull, or the key may not read events.",
		}, []string{"provider"}),
	}
	if registry != nil {
		registry.MustRegister(m.events, m.lastComplete, m.unfinishedSince, m.keyRefused)
	}
	return m
}

// add makes the metrics of a provider exist.
func (m *Metrics) add(provider string) {
	for _, name := range outcomeNames {
		m.events.WithLabelValues(provider, name)
	}
	for _, gauge := range []*prometheus.GaugeVec{m.lastComplete, m.unfinishedSince, m.keyRefused} {
		gauge.WithLabelValues(provider)
	}
}

func (m *Metrics) unfinished(provider string, since time.Time) {
	m.unfinishedSince.WithLabelValues(provider).Set(unix(since))
}

func (m *Metrics) count(provider string, counts *[numOutcomes]atomic.Int64) {
	for i, name := range outcomeNames {
		m.events.WithLabelValues(provider, name).Add(float64(counts[i].Load()))
	}
}

func (m *Metrics) ended(r Result, complete bool, err error) {
	refused := 0.0
	if providerapi.KeyRefused(err) {
		refused = 1
	}
	m.keyRefused.WithLabelValues(r.Provider).Set(refused)
	if complete {
		m.lastComplete.WithLabelValues(r.Provider).Set(unix(r.Until))
		m.unfinishedSince.WithLabelValues(r.Provider).Set(0)
	}
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
