package tools

import (
	"os"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const rulesFile = root + "/deploy/monitoring/rules.yaml"

func TestTheAlertsAreThoseOfTheFileOfRules(t *testing.T) {
	t.Parallel()
	loaded, known := loadChart(t), openKEDA(t)
	given := single.with(values{"monitoring.prometheusRule.enabled": true})
	want := readYAML[monitoring.PrometheusRuleSpec](t, rulesFile)
	require.Greater(t, len(want.Groups), 5)
	require.Equal(t, want, requireObjects(t, loaded, known, given, "").rules[0].Spec)

	settings := want.Groups[0]
	require.Equal(t, "payfold-settings", settings.Name)
	require.Len(t, settings.Rules, 7)
	changed := map[string]any{}
	for i := range settings.Rules {
		changed[settings.Rules[i].Record[len("payfold:"):]] = 1000000
		settings.Rules[i].Expr = intstr.FromString("vector(1000000)")
	}
	got := requireObjects(t, loaded, known, given.with(values{"monitoring.prometheusRule.settings": changed}), "")
	require.Equal(t, want, got.rules[0].Spec)
}

func TestAnAlertCanBeLeftOut(t *testing.T) {
	t.Parallel()
	without := func(names ...any) map[string]int {
		given := single.with(values{"monitoring.prometheusRule.enabled": true, "monitoring.prometheusRule.without": names})
		alerts := map[string]int{}
		for _, group := range requireObjects(t, loadChart(t), openKEDA(t), given, "").rules[0].Spec.Groups {
			for _, rule := range group.Rules {
				alerts[rule.Alert]++
			}
		}
		return alerts
	}
	want := without()
	require.Equal(t, 1, want["PayfoldRestoreDrillTooOld"])
	delete(want, "PayfoldRestoreDrillTooOld")
	require.Equal(t, want, without("PayfoldRestoreDrillTooOld"))
	require.Equal(t, 4, want["PayfoldTimerMissing"])
	want["PayfoldTimerMissing"] = 2
	require.Equal(t, want, without("PayfoldRestoreDrillTooOld", "payfold-verify", "payfold-backup"))
}

// The alert about the drill needs a metric, which the drill of the chart cannot leave on a machine.
func TestTheDrillOfTheChartHasTheMetricOfItsAlert(t *testing.T) {
	t.Parallel()
	o := requireObjects(t, loadChart(t), openKEDA(t), single.with(withDrill).with(values{"monitoring.prometheusRule.enabled": true}), "")
	groups := o.rules[0].Spec.Groups
	rule := groups[len(groups)-1].Rules[0]
	require.Equal(t, "kube_cronjob_status_last_successful_time{namespace=\"shop\", cronjob=\""+o.cronJobs[0].Name+"\"}", rule.Expr.StrVal)
	text, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	require.Contains(t, string(text), "time() - max("+rule.Record+")")
}

// The alert about a missing timer asks for the metric of each provider.
func TestTheJobThatComparesHasTheMetricOfEachProvider(t *testing.T) {
	t.Parallel()
	o := requireObjects(t, loadChart(t), openKEDA(t), cluster.with(withReconcile).with(values{"monitoring.prometheusRule.enabled": true}), "")
	groups := o.rules[0].Spec.Groups
	rules := groups[len(groups)-1].Rules
	var providers []string
	for _, rule := range rules {
		require.Equal(t, "payfold_reconcile_timestamp_seconds", rule.Record)
		require.Equal(t, "kube_cronjob_status_last_successful_time{namespace=\"shop\", cronjob=\""+o.cronJobs[0].Name+"\"}", rule.Expr.StrVal)
		providers = append(providers, rule.Labels["provider"])
	}
	require.Equal(t, []string{"creem", "paddle", "polar", "stripe"}, providers)
}

func TestPrometheusKnowsTheProgramsByTheNamesInTheAlerts(t *testing.T) {
	t.Parallel()
	o := requireObjects(t, loadChart(t), openKEDA(t), everything(cluster), "")
	jobs := []string{}
	for _, monitor := range o.serviceMonitors {
		relabel := monitor.Spec.Endpoints[0].RelabelConfigs[0]
		require.Equal(t, "job", relabel.TargetLabel)
		jobs = append(jobs, *relabel.Replacement)
	}
	require.ElementsMatch(t, []string{"payfold-ingest", "payfold-projector"}, jobs)
}

func TestKEDAKnowsItsTriggerAndFindsTheProjectors(t *testing.T) {
	t.Parallel()
	known := openKEDA(t)
	o := requireObjects(t, loadChart(t), known, everything(cluster), "")
	trigger := o.scaledObjects[0].Spec.Triggers[0]
	require.Equal(t, "metrics-api", trigger.Type)
	for name, value := range trigger.Metadata {
		require.Contains(t, known.parameters, name)
		if allowed := known.parameters[name]; len(allowed) > 0 {
			require.Contains(t, allowed, value, name)
		}
	}
	// KEDA takes the service and its namespace from the host, and the endpoints that have that very port.
	require.Equal(t, "http://payfold-projector-admin.shop:8082/metrics", trigger.Metadata["url"])
	require.EqualValues(t, 8082, o.ports()["projector-admin"])
}
