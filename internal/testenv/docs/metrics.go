package docs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/golden"
)

// Metrics is a registry that can list all metrics of a program, also those without a value.
type Metrics struct {
	*prometheus.Registry
	collectors []prometheus.Collector
}

// NewMetrics returns a registry with the metrics of another one.
func NewMetrics(others ...prometheus.Collector) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry()}
	m.MustRegister(others...)
	return m
}

// Register implements prometheus.Registerer.
func (m *Metrics) Register(c prometheus.Collector) error {
	m.collectors = append(m.collectors, c)
	return m.Registry.Register(c)
}

// MustRegister implements prometheus.Registerer.
func (m *Metrics) MustRegister(collectors ...prometheus.Collector) {
	for _, c := range collectors {
		if err := m.Register(c); err != nil {
			panic(err)
		}
	}
}

// RequirePrintedMetrics compares the metrics with a printed table of docs/metrics.md. The test must be in a folder
// such as cmd/ingest.
func RequirePrintedMetrics(t *testing.T, name string, registries ...*Metrics) {
	t.Helper()
	rows := map[string]string{}
	for _, m := range registries {
		for _, c := range m.collectors {
			addRows(t, rows, c)
		}
	}
	table := "| metric | labels | what it says | |\n|---|---|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		table += rows[name]
	}
	golden.RequirePrinted(t, "../../docs/metrics.md", name, table)
}

// described matches the text of a prometheus.Desc.
var described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

var constLabel = regexp.MustCompile(`(\w+)="`)

func addRows(t *testing.T, rows map[string]string, c prometheus.Collector) {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() { c.Describe(descs); close(descs) }()
	kinds := kindsOf(t, c)
	for desc := range descs {
		parts := described.FindStringSubmatch(desc.String())
		require.NotNil(t, parts, desc.String())
		name, err := strconv.Unquote(parts[1])
		require.NoError(t, err)
		help, err := strconv.Unquote(parts[2])
		require.NoError(t, err)
		if !strings.HasPrefix(name, "payfold_") { // of Go's runtime and of the process
			continue
		}
		var labels []string
		for _, label := range constLabel.FindAllStringSubmatch(parts[3], -1) {
			labels = append(labels, "`"+label[1]+"`")
		}
		for _, label := range strings.FieldsFunc(parts[4], func(r rune) bool { return r == ',' || r == ' ' }) {
			labels = append(labels, "`"+label+"`")
		}
		rows[name] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, strings.Join(labels, ", "), strings.ReplaceAll(help, "|", `\|`), aggregation(t, name, kinds(name)))
	}
}

// kindsOf returns the kind of each metric of a collector. A collector of this project that has no
// values yet has gauges.
func kindsOf(t *testing.T, c prometheus.Collector) func(name string) string {
	t.Helper()
	switch c.(type) {
	case *prometheus.CounterVec:
		return func(string) string { return "counter" }
	case *prometheus.HistogramVec:
		return func(string) string { return "histogram" }
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	known := map[string]string{}
	for _, family := range families {
		known[family.GetName()] = strings.ToLower(family.GetType().String())
	}
	return func(name string) string {
		if kind := known[name]; kind != "" {
			return kind
		}
		return "gauge"
	}
}

// gauges says how each gauge of several programs becomes one value.
var gauges = map[string]string{
	"payfold_build_info":                                          "`count by (version)`",
	"payfold_archive_contradiction":                               "`max`",
	"payfold_archive_damaged":                                     "`max`",
	"payfold_archive_lag_messages":                                "`max`",
	"payfold_archive_lag_seconds":                                 "`max`",
	"payfold_invitations":                                         "`max by (status)`",
	"payfold_invitations_paused":                                  "`max by (cause)`",
	"payfold_invitations_quota_left":                              "`max`",
	"payfold_log_bytes":                                           "`max`",
	"payfold_log_certificate_expiry_timestamp_seconds":            "`min`",
	"payfold_log_disk_free_bytes":                                 "not: one embedded log each",
	"payfold_log_disk_size_bytes":                                 "not: one embedded log each",
	"payfold_log_durability":                                      "`max by (durability)`",
	"payfold_log_messages":                                        "`max`",
	"payfold_log_replicas":                                        "`max`",
	"payfold_log_replicas_current":                                "`min`",
	"payfold_log_scrub_damage":                                    "`max by (server)`",
	"payfold_log_scrub_timestamp_seconds":                         "`max by (server)`",
	"payfold_log_unsafe_settings":                                 "`max`",
	"payfold_projector_lag_messages":                              "`min`",
	"payfold_projector_lag_seconds":                               "`min`",
	"payfold_projector_members":                                   "`max`",
	"payfold_projector_partitions":                                "`sum`",
	"payfold_projector_payments_waiting":                          "`max`",
	"payfold_projector_payments_waiting_oldest_seconds":           "`max`",
	"payfold_projector_quarantined_events":                        "`max`",
	"payfold_projector_position":                                  "`max`",
	"payfold_projector_unleased_partitions":                       "`max`",
	"payfold_provider_gives_up_seconds":                           "`max by (provider)`: infinite if any ingest stores",
	"payfold_ready":                                               "`max by (job)`: 1 if any program of the kind is ready",
	"payfold_rebuild_head":                                        "`max by (schema)`",
	"payfold_pull_key_refused":                                    "`max by (provider)`",
	"payfold_pull_last_complete_timestamp_seconds":                "`max by (provider)`",
	"payfold_pull_unfinished_since_timestamp_seconds":             "`min by (provider)`: 0 if any ingest completes its pulls",
	"payfold_rebuild_position":                                    "`max by (schema)`",
	"payfold_reconcile_compared":                                  "`max by (provider)`",
	"payfold_reconcile_differences":                               "`max by (provider)`",
	"payfold_reconcile_on_its_way":                                "`max by (provider)`",
	"payfold_verify_timestamp_seconds":                            "`max`",
	"payfold_verify_wrong":                                        "`max`",
	"payfold_reconcile_timestamp_seconds":                         "`max by (provider)`",
	"payfold_restore_drill_duration_seconds":                      "`max`",
	"payfold_restore_drill_messages":                              "`max`",
	"payfold_restore_drill_success_timestamp_seconds":             "`max`",
	"payfold_webhook_connections":                                 "`sum by (state)`",
	"payfold_webhook_in_flight":                                   "`sum`",
	"payfold_webhook_last_accepted_timestamp_seconds":             "`max`",
	"payfold_webhook_refusing_signatures_since_timestamp_seconds": "`min by (provider)`: 0 if any ingest accepts",
	"payfold_webhook_refusing_since_timestamp_seconds":            "`min`: 0 if any ingest stores, or has received nothing yet",
}

func aggregation(t *testing.T, name, kind string) string {
	t.Helper()
	switch kind {
	case "counter", "histogram":
		return kind
	}
	require.Contains(t, gauges, name, "say how it is aggregated")
	return gauges[name]
}
