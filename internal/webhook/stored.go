package webhook

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// stored measures whether events of the provider are stored. Deliveries are ordered by the time at
// which they began, because their answers may come in another order.
type stored struct {
	lastAccepted, refusingSince *prometheus.Desc

	mu        sync.Mutex
	accepted  time.Time // of the newest 200; zero if unknown
	confirmed time.Time // the newest delivery that was stored
	refused   time.Time // the newest signed delivery that was answered 503
	since     time.Time // the oldest known of the refused deliveries after confirmed; zero if there is none
}

func newStored() *stored {
	return &stored{
		lastAccepted: prometheus.NewDesc("payfold_webhook_last_accepted_timestamp_seconds",
			"When a delivery was last answered 200, also by an earlier process; no value if it is not known.", nil, nil),
		refusingSince: prometheus.NewDesc("payfold_webhook_refusing_since_timestamp_seconds",
			"Since when this process has answered every signed delivery 503; 0 if it stored the newest one. The provider gives up after some time.", nil, nil),
	}
}

// acceptedAt records a time at which a delivery was answered 200.
func (s *stored) acceptedAt(answered time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered.After(s.accepted) {
		s.accepted = answered
	}
}

func (s *stored) confirm(began, answered time.Time) {
	s.acceptedAt(answered)
	s.mu.Lock()
	defer s.mu.Unlock()
	if began.After(s.confirmed) {
		s.confirmed = began
	}
	if s.since.After(s.confirmed) {
		return
	}
	if s.since = (time.Time{}); s.refused.After(s.confirmed) {
		s.since = s.refused
	}
}

func (s *stored) refuse(began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began.After(s.refused) {
		s.refused = began
	}
	if began.After(s.confirmed) && (s.since.IsZero() || began.Before(s.since)) {
		s.since = began
	}
}

// Describe implements prometheus.Collector.
func (s *stored) Describe(descs chan<- *prometheus.Desc) {
	descs <- s.lastAccepted
	descs <- s.refusingSince
}

// Collect implements prometheus.Collector.
func (s *stored) Collect(metrics chan<- prometheus.Metric) {
	s.mu.Lock()
	accepted, since := s.accepted, s.since
	s.mu.Unlock()
	if !accepted.IsZero() {
		metrics <- prometheus.MustNewConstMetric(s.lastAccepted, prometheus.GaugeValue, unix(accepted))
	}
	metrics <- prometheus.MustNewConstMetric(s.refusingSince, prometheus.GaugeValue, unix(since))
}

// unix returns seconds, and 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}
