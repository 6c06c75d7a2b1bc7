package tools

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/eventrecorder"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/alertmanager/provider/mem"
	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// promtool has shown that these alerts fire. Alertmanager's own code says here which of them its rules silence.
func TestEachFaultPagesOnce(t *testing.T) {
	settings, err := config.LoadFile("../alertmanager.yml")
	require.NoError(t, err)
	faults := readFaults(t)
	require.Greater(t, len(faults), 6)
	for _, fault := range faults {
		page, _, found := strings.Cut(fault.Name, ":")
		require.True(t, found, fault.Name)
		for _, moment := range fault.Moments {
			t.Run(fault.Name+" After "+moment.EvalTime, func(t *testing.T) {
				require.Equal(t, []string{page}, notified(t, settings, moment.alerts(t)))
			})
		}
	}
}

type fault struct {
	Name    string   `yaml:"name"`
	Moments []moment `yaml:"promql_expr_test"`
}

type moment struct {
	EvalTime string `yaml:"eval_time"`
	Samples  []struct {
		Labels string `yaml:"labels"`
	} `yaml:"exp_samples"`
}

func readFaults(t *testing.T) []fault {
	t.Helper()
	var file struct {
		Tests []fault `yaml:"tests"`
	}
	text, err := os.ReadFile("../faults_test.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &file))
	return file.Tests
}

// alerts returns the alerts that fire, as Prometheus sends them.
func (m moment) alerts(t *testing.T) (out []*alert.Alert) {
	t.Helper()
	for _, sample := range m.Samples {
		series, err := parser.NewParser(parser.Options{}).ParseMetric(sample.Labels)
		require.NoError(t, err)
		labels := model.LabelSet{}
		for name, value := range series.Map() {
			if name != model.MetricNameLabel && name != "alertstate" {
				labels[model.LabelName(name)] = model.LabelValue(value)
			}
		}
		now := time.Now()
		out = append(out, &alert.Alert{
			Alert: model.Alert{Labels: labels, StartsAt: now, EndsAt: now.Add(time.Hour)}, UpdatedAt: now,
		})
	}
	return out
}

// notified returns the names of the alerts that no rule silences.
func notified(t *testing.T, settings *config.Config, firing []*alert.Alert) (names []string) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	alerts, err := mem.NewAlerts(t.Context(), time.Hour, 0, nil, logger, eventrecorder.NopRecorder(), client.NewRegistry(), nil)
	require.NoError(t, err)
	defer alerts.Close()
	require.NoError(t, alerts.Put(t.Context(), firing...))
	inhibitor := inhibit.NewInhibitor(alerts, settings.InhibitRules, logger, eventrecorder.NopRecorder())
	ended := make(chan struct{})
	go func() {
		inhibitor.Run()
		close(ended)
	}()
	inhibitor.WaitForLoading()
	for _, one := range firing {
		if !inhibitor.Mutes(context.Background(), one.Labels) {
			names = append(names, one.Name())
		}
	}
	inhibitor.Stop()
	<-ended
	return names
}
