package docs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestEachAlertHasItsSectionOfTheRunbookAndKnownMetrics(t *testing.T) {
	t.Parallel()
	repository, err := payfold()
	require.NoError(t, err)
	require.Empty(t, repository.RunbookFaults())
}

func TestAnAlertWithoutATestIsFound(t *testing.T) {
	t.Parallel()
	repository, err := docs.Open(setup(t, map[string]string{
		"deploy/monitoring/rules.yaml": "  - alert: PayfoldSlow\n        runbook_url: https://example.com/docs/runbook.md#payfoldslow\n",
		"docs/runbook.md":              "## PayfoldSlow\n", "deploy/monitoring/rules_test.yaml": `ALERTS{alertname="PayfoldSlower"}`,
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"deploy/monitoring/rules_test.yaml has no test of PayfoldSlow"}, repository.RunbookFaults())
}

func TestADifferenceBetweenAlertsAndRunbookIsFound(t *testing.T) {
	t.Parallel()
	const url = "        runbook_url: https://example.com/docs/runbook.md#"
	good := "  - alert: PayfoldSlow\n    expr: payfold_total > 1\n" + url + "payfoldslow\n" + "  - alert: PayfoldSlow\n" + url + "payfoldslow\n" +
		"  - alert: PayfoldGone\n" + url + "payfoldgone\n"
	const sections = "## Look first\n\n## PayfoldSlow\n\n## PayfoldGone\n"
	for name, c := range map[string]struct {
		rules, runbook, metrics string
		faults                  []string
	}{
		"none":                      {good, sections, "`payfold_total`", nil},
		"another order":             {good, "## PayfoldGone\n\n## PayfoldSlow\n", "`payfold_total`", []string{"docs/runbook.md has the sections [PayfoldGone PayfoldSlow], the alerts are [PayfoldSlow PayfoldGone]"}},
		"no section":                {good, "## PayfoldSlow\n", "`payfold_total`", []string{"docs/runbook.md has the sections [PayfoldSlow], the alerts are [PayfoldSlow PayfoldGone]"}},
		"no alert":                  {"", "## PayfoldSlow\n", "", []string{"docs/runbook.md has the sections [PayfoldSlow], the alerts are []"}},
		"no link":                   {"  - alert: PayfoldSlow\n  - alert: PayfoldGone\n", sections, "", []string{"deploy/monitoring/rules.yaml: PayfoldSlow has no runbook_url", "deploy/monitoring/rules.yaml: PayfoldGone has no runbook_url"}},
		"another link":              {"  - alert: PayfoldSlow\n" + url + "payfoldgone\n", "## PayfoldSlow\n", "", []string{"deploy/monitoring/rules.yaml: the runbook_url of PayfoldSlow is https://example.com/docs/runbook.md#payfoldgone"}},
		"a metric of no source":     {"expr: payfold_lost > 0", "", "`payfold_lost`", []string{"deploy/monitoring/rules.yaml: there is no metric payfold_lost"}},
		"a metric that is not told": {good, sections, "", []string{"docs/metrics.md lacks payfold_total, which deploy/monitoring/rules.yaml reads"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repository, err := docs.Open(setup(t, map[string]string{
				"deploy/monitoring/rules.yaml": c.rules, "docs/runbook.md": c.runbook, "docs/metrics.md": c.metrics,
			}))
			require.NoError(t, err)
			require.Equal(t, c.faults, repository.RunbookFaults())
		})
	}
}
