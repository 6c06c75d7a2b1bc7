// Package tools tests the chart: what it renders, what it refuses, and that the programs take it.
package tools

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

const (
	chartPath = "../payfold"
	root      = "../../.."
)

// values are what somebody gives the chart, by the paths of helm's --set: "image.tag".
type values map[string]any

// with returns these values and others, which win.
func (v values) with(others values) values {
	both := maps.Clone(v)
	maps.Copy(both, others)
	return both
}

// nested returns the values as a file of values has them.
func (v values) nested() map[string]any {
	tree := map[string]any{}
	for path, value := range v {
		at, keys := tree, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			if _, exists := at[key]; !exists {
				at[key] = map[string]any{}
			}
			at = at[key].(map[string]any)
		}
		at[keys[len(keys)-1]] = value
	}
	return tree
}

// The least that each mode needs.
var (
	single = values{
		"mode": "single", "image.repository": "payfold", "image.tag": "test",
		"providers.stripe.secret.name": "payfold", "secrets.databaseURL.name": "payfold",
	}
	cluster = single.with(values{
		"mode": "cluster", "secrets.natsURLIngest.name": "payfold", "secrets.natsURLProjector.name": "payfold",
	})
)

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.LoadDir(chartPath)
	require.NoError(t, err)
	require.NoError(t, loaded.Validate())
	return loaded
}

// render returns the text of every template that gives one, by its file, as helm install payfold would.
func render(loaded *chart.Chart, given values) (map[string]string, error) {
	return renderAs("payfold", loaded, given)
}

func renderAs(release string, loaded *chart.Chart, given values) (map[string]string, error) {
	options := chartutil.ReleaseOptions{Name: release, Namespace: "shop", IsInstall: true, Revision: 1}
	all, err := chartutil.ToRenderValues(loaded, given.nested(), options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(loaded, all)
	maps.DeleteFunc(texts, func(_, text string) bool { return strings.TrimSpace(text) == "" })
	return texts, err
}

var separator = regexp.MustCompile(`(?m)^---$`)

// documents returns the YAML documents of what was rendered, without the notes.
func documents(texts map[string]string) []string {
	var all []string
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		for _, document := range separator.Split(texts[file], -1) {
			if strings.TrimSpace(document) != "" {
				all = append(all, strings.TrimSpace(document)+"\n")
			}
		}
	}
	return all
}

// readYAML reads a file into a value of any type.
func readYAML[T any](t *testing.T, file string) T {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var value T
	require.NoError(t, yaml.Unmarshal(text, &value))
	return value
}
