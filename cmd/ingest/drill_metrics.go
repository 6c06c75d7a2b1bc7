package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/restore"
)

// drillMetrics returns what is to be known of a drill that has succeeded.
func drillMetrics(result restore.Result) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	with := promauto.With(registry)
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_success_timestamp_seconds", Help: "When a restore of the log from its archive last succeeded as a drill.",
	}).SetToCurrentTime()
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_duration_seconds", Help: "How long that restore took.",
	}).Set(result.Seconds)
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_messages", Help: "Messages that it restored and compared.",
	}).Set(float64(result.Last - result.First + 1))
	return registry
}
