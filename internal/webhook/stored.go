package webhook

import (
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/providers"
)

// stored measures whether events of the providers are stored.
type stored struct {
	lastAccepted, refusingSince, doubtingSince, givesUp *prometheus.Desc

	givesUpAfter map[string]time.Duration // by provider, of those with a known schedule

	mu       sync.Mutex
	accepted time.Time                    // of the newest 200; zero if unknown
	all      refusals                     // of all providers, with a valid signature
	of       map[string]*providerRefusals // by provider
}

// providerRefusals are those of one provider.
type providerRefusals struct {
	all, signed refusals // signed: with a valid signature
	doubted     refusals // for the signature, confirmed by a valid one
}

// refusals tell since when no delivery is stored. Deliveries are ordered by the time at which they began, because their
// answers may come in another order.
type refusals struct {
	confirmed time.Time // the newest delivery that was stored
	refused   time.Time // the newest delivery that was refused, and that its provider repeats
	since     time.Time // the oldest known of the refused deliveries after confirmed; zero if there is none
}

func newStored(served ...string) *stored {
	s := &stored{
		givesUpAfter: map[string]time.Duration{}, of: map[string]*providerRefusals{},
		lastAccepted: prometheus.NewDesc("payfold_webhook_last_accepted_timestamp_seconds",
			"When a delivery was last answered 200, also by an earlier process; no value if it is not known.", nil, nil),
		refusingSince: prometheus.NewDesc("payfold_webhook_refusing_since_timestamp_seconds",
			"Since when this process has answered every signed delivery 503; 0 if it stored the newest one. The provider gives up after some time.", nil, nil),
		doubtingSince: prometheus.NewDesc("payfold_webhook_refusing_signatures_since_timestamp_seconds",
			"Since when this process has refused every signature of the provider; 0 if the newest was valid, no value before "+
				"the first one.", []string{"provider"}, nil),
		givesUp: prometheus.NewDesc("payfold_provider_gives_up_seconds",
			"Time until the provider stops repeating the oldest delivery refused since the last stored one; negative if it has "+
				"stopped, infinite if nothing is missing.",
			[]string{"provider"}, nil),
	}
	for _, name := range served {
		s.of[name] = &providerRefusals{}
		if after := providers.Named(name).GivesUpAfter(); after > 0 {
			s.givesUpAfter[name] = after
		}
	}
	return s
}

// acceptedAt records a time at which a delivery was answered 200.
func (s *stored) acceptedAt(answered time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered.After(s.accepted) {
		s.accepted = answered
	}
}

func (s *stored) confirm(provider string, began, answered time.Time) {
	s.acceptedAt(answered)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.confirm(began)
	if of := s.of[provider]; of != nil {
		of.all.confirm(began)
		of.signed.confirm(began)
		of.doubted.confirm(began)
	}
}

// refuse records a delivery that the provider repeats. signed: its signature is valid, so it is no stranger's.
func (s *stored) refuse(provider string, began time.Time, signed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if signed {
		s.all.refuse(began)
	}
	of := s.of[provider]
	switch {
	case of == nil:
		return
	case signed:
		of.signed.refuse(began)
		of.doubted.confirm(began)
	default:
		of.doubted.refuse(began)
	}
	of.all.refuse(began)
}

// pulled records that the log has everything that the provider had sent at a time.
func (s *stored) pulled(provider string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.of[provider]; of != nil {
		of.all.confirm(until)
		of.signed.confirm(until)
	}
}

func (r *refusals) confirm(began time.Time) {
	if began.After(r.confirmed) {
		r.confirmed = began
	}
	if r.since.After(r.confirmed) {
		return
	}
	if r.since = (time.Time{}); r.refused.After(r.confirmed) {
		r.since = r.refused
	}
}

func (r *refusals) refuse(began time.Time) {
	if began.After(r.refused) {
		r.refused = began
	}
	if began.After(r.confirmed) && (r.since.IsZero() || began.Before(r.since)) {
		r.since = began
	}
}

// givesUpAt returns when each provider with a known schedule stops repeating the oldest of its refused deliveries; the
// zero time if none was refused. signed: only of those with a valid signature. It has no provider of which nothing is
// known. The caller holds the lock.
func (s *stored) givesUpAt(signed bool) map[string]time.Time {
	out := map[string]time.Time{}
	for name, after := range s.givesUpAfter {
		of := s.of[name].all
		if signed {
			of = s.of[name].signed
		}
		switch {
		case !of.since.IsZero():
			out[name] = of.since.Add(after)
		case !of.confirmed.IsZero():
			out[name] = time.Time{}
		}
	}
	return out
}

// GivesUp returns how many seconds each provider still repeats the oldest delivery that was refused since the last stored
// one, for the providers with a documented schedule that have such a delivery. signed: only of deliveries whose signature is
// valid.
func (h *Handler) GivesUp(now time.Time, signed bool) map[string]float64 {
	s, left := h.metrics.stored, map[string]float64{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, at := range s.givesUpAt(signed) {
		if !at.IsZero() {
			left[name] = max(at.Sub(now), 0).Seconds()
		}
	}
	return left
}

// RefusesSignatures returns for how many seconds the signature of every delivery of a provider that had one has been
// refused, for the providers of which the newest was.
func (h *Handler) RefusesSignatures(now time.Time) map[string]float64 {
	s, since := h.metrics.stored, map[string]float64{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, of := range s.of {
		if !of.doubted.since.IsZero() {
			since[name] = max(now.Sub(of.doubted.since), 0).Seconds()
		}
	}
	return since
}

// Pulled records that the log has everything that the provider had sent at a time, so that no delivery of before is
// missing.
func (h *Handler) Pulled(provider string, until time.Time) { h.metrics.stored.pulled(provider, until) }

// Describe implements prometheus.Collector.
func (s *stored) Describe(descs chan<- *prometheus.Desc) {
	descs <- s.lastAccepted
	descs <- s.refusingSince
	descs <- s.doubtingSince
	descs <- s.givesUp
}

// Collect implements prometheus.Collector.
func (s *stored) Collect(metrics chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.accepted.IsZero() {
		metrics <- prometheus.MustNewConstMetric(s.lastAccepted, prometheus.GaugeValue, unix(s.accepted))
	}
	metrics <- prometheus.MustNewConstMetric(s.refusingSince, prometheus.GaugeValue, unix(s.all.since))
	for name, of := range s.of {
		if of.doubted != (refusals{}) {
			metrics <- prometheus.MustNewConstMetric(s.doubtingSince, prometheus.GaugeValue, unix(of.doubted.since), name)
		}
	}
	for name, at := range s.givesUpAt(false) {
		value := math.Inf(1)
		if !at.IsZero() {
			value = time.Until(at).Seconds()
		}
		metrics <- prometheus.MustNewConstMetric(s.givesUp, prometheus.GaugeValue, value, name)
	}
}

// unix returns seconds, and 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}
