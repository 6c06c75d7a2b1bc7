package cli

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheDistanceOfTwoNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"CATALOGUE_FILE": 0, "CATALOG_FILE": 2, "CATALOGUE_FILES": 1, "CATALOGUEFILE": 1, "KATALOGUE_FILE": 1, "CATALOGEU_FILE": 2, "": 14} {
		require.Equal(t, want, distance("CATALOGUE_FILE", name), name)
		require.Equal(t, want, distance(name, "CATALOGUE_FILE"), name)
	}
}

// A program must not warn of a variable that the other one reads.
func TestNoTwoVariablesAreNearlyAlike(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	var names []string
	for _, found := range regexp.MustCompile("`([A-Z][A-Z0-9_]+)`").FindAllStringSubmatch(string(text), -1) {
		if name := found[1]; len(name) >= shortestName && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	require.Greater(t, len(names), 50)
	for i, name := range names {
		for _, other := range names[:i] {
			require.Greater(t, distance(name, other), slips, "%s and %s", name, other)
		}
	}
}
