package tools

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

var example = regexp.MustCompile("(?ms)^```yaml\n# (\\S+).*?\n(.*?)^```")

func TestTheExamplesOfTheDocumentsCanBeUsed(t *testing.T) {
	t.Parallel()
	loaded, known := loadChart(t), openKEDA(t)
	requirePod := restrictedPods(t)
	text, err := os.ReadFile(root + "/docs/kubernetes.md")
	require.NoError(t, err)
	var restore objects
	files := map[string]int{}
	for _, found := range example.FindAllStringSubmatch(string(text), -1) {
		files[found[1]]++
		if found[1] == "values.yaml" {
			given := values{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(found[2]), (*map[string]any)(&given)))
			if given["image"] == nil { // it is an addition to others
				given = chartutil.CoalesceTables(given, single.nested())
			}
			o := requireObjects(t, loaded, known, given, found[2])
			o.requireWhole(t, found[2])
			continue
		}
		for _, document := range separator.Split(found[2], -1) {
			_, err := restore.decode(known, strings.TrimSpace(document))
			require.NoError(t, err, document)
		}
	}
	require.Equal(t, map[string]int{"values.yaml": 4, "restore.yaml": 1}, files)

	// What is restored is what the chart's pod finds.
	release := requireObjects(t, loaded, known, single, "")
	set := release.statefulSets[0]
	require.Equal(t, set.Spec.VolumeClaimTemplates[0].Name+"-"+set.Name+"-0", restore.claims[0].Name)
	job := restore.jobs[0].Spec.Template
	require.Equal(t, restore.claims[0].Name, job.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	require.Equal(t, set.Spec.Template.Spec.SecurityContext, job.Spec.SecurityContext)
	requirePod(t, job, "restore.yaml")
}
