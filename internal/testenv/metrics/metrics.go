// Package metrics reads the metrics that a test measures.
package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Values returns counters, gauges and the numbers of observations, by their names. The values of labels follow the
// name, each after a space.
func Values(t testing.TB, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// Value returns one of Values; it fails the test if there is none of that name.
func Value(t testing.TB, registry prometheus.Gatherer, name string) float64 {
	t.Helper()
	values := Values(t, registry)
	require.Contains(t, values, name)
	return values[name]
}
