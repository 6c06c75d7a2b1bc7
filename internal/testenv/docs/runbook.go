package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	alertRules  = "deploy/monitoring/rules.yaml"
	alertTests  = "deploy/monitoring/rules_test.yaml"
	dayTests    = "deploy/monitoring/rules_days_test.yaml"
	runbook     = "docs/runbook.md"
	metricsList = "docs/metrics.md"
)

var (
	alertOrRunbook = regexp.MustCompile(`(?m)^ +(?:- alert|runbook_url): (\S+)$`)
	alertSection   = regexp.MustCompile(`(?m)^## (Payfold\S+)$`)
	ruleMetric     = regexp.MustCompile(`\bpayfold_[a-z0-9_]+`)
	ofHistogram    = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// RunbookFaults compares the alerts with their tests, and with the sections of the runbook, which must be in the
// same order. It also compares the metrics that the rules read with the sources and with docs/metrics.md.
func (r *Repository) RunbookFaults() []string {
	alerts, faults := r.alerts()
	var sections []string
	for _, heading := range alertSection.FindAllStringSubmatch(r.files[runbook], -1) {
		sections = append(sections, heading[1])
	}
	if !slices.Equal(alerts, sections) {
		faults = append(faults, fmt.Sprintf("%s has the sections %v, the alerts are %v", runbook, sections, alerts))
	}
	if tests, has := r.files[alertTests]; has {
		for _, name := range alerts {
			if !strings.Contains(tests+r.files[dayTests], `"`+name+`"`) {
				faults = append(faults, fmt.Sprintf("%s has no test of %s", alertTests, name))
			}
		}
	}
	return append(faults, r.ruleMetricFaults()...)
}

// alerts returns the names of the alerts in their order, each once, and the links to the runbook
// that do not lead to the alert's section.
func (r *Repository) alerts() (names, faults []string) {
	name := ""
	for _, match := range alertOrRunbook.FindAllStringSubmatch(r.files[alertRules], -1) {
		isLink := strings.Contains(match[0], "runbook_url")
		switch {
		case !isLink:
			if name != "" {
				faults = append(faults, fmt.Sprintf("%s: %s has no runbook_url", alertRules, name))
			}
			if name = match[1]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		case !strings.HasSuffix(match[1], "/"+runbook+"#"+anchor(name)):
			faults = append(faults, fmt.Sprintf("%s: the runbook_url of %s is %s", alertRules, name, match[1]))
			name = ""
		default:
			name = ""
		}
	}
	if name != "" {
		faults = append(faults, fmt.Sprintf("%s: %s has no runbook_url", alertRules, name))
	}
	return names, faults
}

func (r *Repository) ruleMetricFaults() []string {
	known := r.index().metrics
	list, hasList := r.files[metricsList]
	names := ruleMetric.FindAllString(r.files[alertRules], -1)
	slices.Sort(names)
	var faults []string
	for _, name := range slices.Compact(names) {
		if base := ofHistogram.ReplaceAllString(name, ""); known[base] {
			name = base
		}
		if !known[name] {
			faults = append(faults, fmt.Sprintf("%s: there is no metric %s", alertRules, name))
		}
		if hasList && !strings.Contains(list, "`"+name+"`") {
			faults = append(faults, fmt.Sprintf("%s lacks %s, which %s reads", metricsList, name, alertRules))
		}
	}
	return faults
}
