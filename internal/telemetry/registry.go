package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Build says what a program was built from.
type Build struct {
	Version   string
	Commit    string
	GoVersion string
}

// NewRegistry returns a registry with the collectors of the Go runtime and the process, and
// with payfold_build_info.
func NewRegistry(build Build) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payfold_build_info", Help: "1; the labels say what the program was built from.",
	}, []string{"version", "commit", "go_version"})
	info.WithLabelValues(build.Version, build.Commit, build.GoVersion).Set(1)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info)
	return registry
}
