//go:build upgrade

package endtoend

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
)

// upgrade is a build that is replaced by this one.
type upgrade struct {
	log    string // embedded or cluster
	commit string // or a tag
}

// upgradesFrom reads upgrade-from: lines like "embedded v0.1.0". They name a release or commit with other rules for each
// kind of log, and one with the rules of this build. A release puts its own tag there. Until the first release it is the
// commit from which on formats are a promise.
func upgradesFrom(t *testing.T) (all []upgrade) {
	t.Helper()
	text, err := os.ReadFile("upgrade-from")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		log, commit, found := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, found, line)
		all = append(all, upgrade{log, commit})
	}
	require.NotEmpty(t, all, "upgrade-from names no earlier version")
	return all
}

// build is the programs of one commit.
type build struct {
	dir   string
	rules string // RulesVersion of its projector
}

var rulesVersion = regexp.MustCompile(`(?m)^const RulesVersion = "(.*)"$`)

// buildCommit builds the programs of a commit or a tag.
func buildCommit(t *testing.T, commit string) build {
	t.Helper()
	dir := t.TempDir()
	script := `git -C ../.. archive "$0" | tar -x -C "$1" && cd "$1" && go build -trimpath -buildvcs=false -o bin/ ./cmd/...`
	output, err := exec.Command("bash", "-o", "pipefail", "-c", script, commit, dir).CombinedOutput()
	require.NoError(t, err, "build the programs of %s, which needs the history of the repository: %s", commit, output)
	files, err := filepath.Glob(filepath.Join(dir, "internal/projections/*.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if found := rulesVersion.FindSubmatch(text); found != nil {
			return build{filepath.Join(dir, "bin"), string(found[1])}
		}
	}
	require.Fail(t, "no RulesVersion is found", commit)
	return build{}
}

// thisBuild is the programs of the present files.
func thisBuild(t *testing.T) build {
	t.Helper()
	return build{filepath.Dir(testenv.Binary(t, "projector")), projections.RulesVersion}
}

// withOtherRules is thisBuild with another version of the rules.
func withOtherRules(t *testing.T) build {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(otherBuild(t), filepath.Join(dir, "projector")))
	require.NoError(t, os.Symlink(testenv.Binary(t, "ingest"), filepath.Join(dir, "ingest")))
	return build{dir, "next"}
}

func (b build) start(t *testing.T, program string, env []string, args ...string) *testenv.Program {
	t.Helper()
	return testenv.StartCommand(t, exec.Command(filepath.Join(b.dir, program), args...), env)
}
