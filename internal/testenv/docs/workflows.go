package docs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

const workflows = ".github/workflows/"

// workflow is what WorkflowFaults reads of a workflow of GitHub.
type workflow struct {
	On   any `yaml:"on"`
	Jobs map[string]struct {
		RunsOn string `yaml:"runs-on"`
		Steps  []struct {
			Uses string `yaml:"uses"`
			Run  string `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// pinned matches an action that is pinned by its commit. A tag can be moved to another commit.
var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// WorkflowFaults lists what cannot run in the workflows: YAML that cannot be read, steps that call
// a make target or a script that does not exist, and actions without a commit.
func (r *Repository) WorkflowFaults() []string {
	known := r.index()
	var faults []string
	for _, file := range slices.Sorted(maps.Keys(r.files)) {
		if !strings.HasPrefix(file, workflows) {
			continue
		}
		var w workflow
		if err := yaml.Unmarshal([]byte(r.files[file]), &w); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", file, err))
			continue
		}
		for _, fault := range w.faults(r, known) {
			faults = append(faults, file+": "+fault)
		}
	}
	return faults
}

func (w workflow) faults(r *Repository, known *index) []string {
	var faults []string
	if w.On == nil || len(w.Jobs) == 0 {
		faults = append(faults, "nothing starts it, or it has no jobs")
	}
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		if w.Jobs[name].RunsOn == "" {
			faults = append(faults, "job "+name+" has no machine")
		}
		for _, step := range w.Jobs[name].Steps {
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				faults = append(faults, step.Uses+" is not pinned by its commit")
			}
			for _, match := range makeAsked.FindAllStringSubmatch(step.Run, -1) {
				if !known.goals[match[1]] {
					faults = append(faults, "there is no make target "+match[1])
				}
			}
			if script, _, _ := strings.Cut(step.Run, " "); strings.Contains(script, "/") && !r.has(script) {
				faults = append(faults, "there is no "+script)
			}
		}
	}
	return faults
}
