package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/restore"
)

// drillMetrics returns the metrics of a drill that has succeeded.
func drillMetrics(result restore.Result) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	with := promauto.With(registry)
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_success_timestamp_seconds", Help: "When a drill last restored the log from its archive successfully.",
	}).SetToCurrentTime()
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_duration_seconds", Help: "How long the last successful drill took.",
	}).Set(result.Seconds)
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_messages", Help: "Messages that the last successful drill restored and compared.",
	}).Set(float64(result.Last - result.First + 1))
	return registry
}
