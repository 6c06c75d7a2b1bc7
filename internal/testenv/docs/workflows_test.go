package docs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheWorkflowsCallWhatExists(t *testing.T) {
	t.Parallel()
	repository, err := payfold()
	require.NoError(t, err)
	require.Empty(t, repository.WorkflowFaults())
}

func TestEveryFaultOfAWorkflowIsFound(t *testing.T) {
	t.Parallel()
	const head = "on: push\njobs:\n  one:\n    runs-on: linux\n    steps:\n"
	for name, c := range map[string]struct{ text, fault string }{
		"a target":          {head + "      - run: make gone\n", "there is no make target gone"},
		"a script":          {head + "      - run: .ci/gone --all\n", "there is no .ci/gone"},
		"an action":         {head + "      - uses: actions/checkout@v7\n", "actions/checkout@v7 is not pinned by its commit"},
		"a job's machine":   {"on: push\njobs:\n  one:\n    steps: []\n", "job one has no machine"},
		"what starts it":    {"jobs:\n  one: {runs-on: linux}\n", "nothing starts it, or it has no jobs"},
		"what it should do": {"on: push\n", "nothing starts it, or it has no jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repository, err := docs.Open(setup(t, map[string]string{".github/workflows/ci.yml": c.text}))
			require.NoError(t, err)
			require.Equal(t, []string{".github/workflows/ci.yml: " + c.fault}, repository.WorkflowFaults())
		})
	}
	repository, err := docs.Open(setup(t, map[string]string{".github/workflows/ci.yml": "on: {push\njobs"}))
	require.NoError(t, err)
	require.Len(t, repository.WorkflowFaults(), 1)
}
