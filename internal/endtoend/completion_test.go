package endtoend

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// activation is the line that completion prints for the user.
var activation = regexp.MustCompile(`(?m)^ +(source .*)$`)

func TestBashCompletesTheCommandLineWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	for program, example := range map[string]struct{ typed, runs string }{
		"ingest":    {typed: "ingest sen\t--sal\t--he\t\n", runs: "Usage: ingest send"},
		"projector": {typed: "projector inv\tre\t--he\t\n", runs: "Usage: projector invitations retry"},
	} {
		faults := []string{"MAX_BODY_BYTES=many", "BATCH_SIZE=many", "PROVIDER_WEBHOOK_SECRET_FILE=/nowhere/secret"}
		completion := testenv.Start(t, program, faults, "completion", "bash")
		require.Zero(t, completion.Exit(t), completion.Output())
		line := activation.FindStringSubmatch(completion.Output())
		require.NotNil(t, line, completion.Output())

		bash := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "-i")
		folder := filepath.Dir(testenv.Binary(t, program))
		bash.Env = append(faults, "PATH="+folder+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "INPUTRC=/dev/null", "TERM=dumb", "GORACE=atexit_sleep_ms=0")
		terminal, err := pty.Start(bash)
		require.NoError(t, err)
		defer terminal.Close()
		_, err = io.WriteString(terminal, line[1]+"\n"+example.typed+"exit\n")
		require.NoError(t, err)
		shown, _ := io.ReadAll(terminal) // ends with an error when bash has ended
		require.NoError(t, bash.Wait(), string(shown))
		require.Contains(t, string(shown), example.runs)
	}
}
