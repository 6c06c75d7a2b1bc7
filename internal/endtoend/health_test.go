package endtoend

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// adminOf returns the ADMIN_ADDR of a program.
func adminOf(t *testing.T, p *testenv.Program) string {
	t.Helper()
	return attribute(p.WaitFor(t, adminLine), "admin_addr")
}

// answerOf returns the status and the text of an answer.
func answerOf(t *testing.T, url string) (status int, text string) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, strings.TrimSpace(string(body))
}

// requireNotReady waits until /readyz gives a reason, while the program lives.
func requireNotReady(t *testing.T, program, admin, reason string) {
	t.Helper()
	var status int
	var said string
	wait.Until(t, func() bool {
		status, said = answerOf(t, "http://"+admin+"/readyz")
		return strings.Contains(said, reason)
	}, reason)
	require.Equal(t, http.StatusServiceUnavailable, status, said)
	require.Equal(t, http.StatusOK, statusOf(t, "http://"+admin+"/livez"))
	exit, output := healthcheck(t, program, admin)
	require.Equal(t, 1, exit)
	require.Contains(t, output, reason)
	exit, output = healthcheck(t, program, admin, "--live")
	require.Zero(t, exit, output)
}

// healthcheck runs the command with only the address, as a container does.
func healthcheck(t *testing.T, program, admin string, args ...string) (exit int, output string) {
	t.Helper()
	_, port, err := net.SplitHostPort(admin)
	require.NoError(t, err)
	check := testenv.Start(t, program, []string{"ADMIN_ADDR=0.0.0.0:" + port}, append([]string{"healthcheck"}, args...)...)
	return check.Exit(t), check.Output()
}

// A named pipe in place of a block holds up the check until somebody opens it.
func TestIngestSaysHowFarItHasCheckedTheLogWhileItStarts(t *testing.T) {
	t.Parallel()
	w, _ := setupBlocks(t)
	require.NoError(t, os.Rename(w.block(1), filepath.Join(w.dir, "1.blk")))
	require.NoError(t, syscall.Mkfifo(w.block(1), 0o600))
	ingest := testenv.Start(t, "ingest", append(w.env(), "LISTEN_ADDR="+w.listen, "PROVIDER_WEBHOOK_SECRET="+secret, "GOMAXPROCS=2"))
	admin := adminOf(t, ingest)
	requireNotReady(t, "ingest", admin, "checking the log before it is opened: 2 of 3 blocks")
	state := testenv.Start(t, "ingest", []string{"ADMIN_ADDR=" + admin}, "status")
	require.Zero(t, state.Exit(t), state.Output())
	require.Regexp(t, "ready +no: checking the log before it is opened: 2 of 3 blocks", state.Output())
	pipe, err := os.OpenFile(w.block(1), os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	require.Equal(t, 1, ingest.Exit(t), "an empty block is damage")

	require.NoError(t, os.Rename(filepath.Join(w.dir, "1.blk"), w.block(1)))
	w.startIngest(t)
	exit, output := healthcheck(t, "ingest", adminOf(t, w.ingest))
	require.Zero(t, exit, output)
}

func TestTheStateOfIngestIsShownFromItsStartOn(t *testing.T) {
	t.Parallel()
	w := start(t, t.TempDir())
	status := func(args ...string) (exit int, output string) {
		command := testenv.Start(t, "ingest", []string{"ADMIN_ADDR=" + adminOf(t, w.ingest)}, append([]string{"status"}, args...)...)
		return command.Exit(t), command.Output()
	}
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 4), pack("evt_2", "pay_2", "u_1", 4), pack("evt_1", "pay_1", "u_1", 4))
	response, err := http.Post(w.provider.URL, "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	var output string
	wait.Until(t, func() bool { // an answer is counted after it was sent
		var exit int
		exit, output = status()
		require.Zero(t, exit, output)
		return strings.Contains(output, "unauthorized")
	})
	for _, line := range []string{
		`ready +yes`, `newest +seq 2, stored \S+ \S+Z, \S+ ago`, `kept by its server +seq 1 to 2, 2 messages, \d+ bytes`,
		`replicas +1, fsynced before the answer`, `place +` + filepath.Join(w.dir, "archive"), `accepted +\d +2 +2`, `duplicate +\d +1 +1`,
	} {
		require.Regexp(t, line, output)
	}
	_, output = status("--json")
	require.Contains(t, output, `"head":2,`)

	stop(t, w.ingest)
	exit, output := status()
	require.Equal(t, 1, exit)
	require.Contains(t, output, "nothing answers at ADMIN_ADDR")
	require.Contains(t, output, "ingest check")
}

func TestAProjectorSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	w := &world{dir: t.TempDir(), database: testenv.Database(t)}
	projector := w.startProjector(t)
	requireNotReady(t, "projector", adminOf(t, projector), "not connected to the log")

	held := flock.New(filepath.Join(w.dir, "postgres.lock"))
	_, err := held.TryLock()
	require.NoError(t, err)
	defer held.Close()
	other := testenv.Start(t, "projector", w.env())
	requireNotReady(t, "projector", adminOf(t, other), "the private postgres does not answer yet")
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "postgres.dsn"), []byte("host=127.0.0.1"), 0o600)) // it was made before
	testenv.Start(t, "projector", w.env(), "rebuild").WaitFor(t, "the private postgres does not answer yet")

	unreachable := testenv.Start(t, "projector", append(start(t, t.TempDir()).env(), "DATABASE_URL=postgres://nobody@127.0.0.1:1/none"))
	requireNotReady(t, "projector", adminOf(t, unreachable), "failed to connect")
	for _, p := range []*testenv.Program{projector, other, unreachable} {
		stop(t, p)
	}
}

func TestAHealthcheckWithoutAProgramFails(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"ingest", "projector"} {
		exit, output := healthcheck(t, program, "127.0.0.1:1")
		require.Equal(t, 1, exit)
		require.Contains(t, output, "nothing answers at ADMIN_ADDR 127.0.0.1:1")
		without := testenv.Start(t, program, nil, "healthcheck")
		require.LessOrEqual(t, without.Exit(t), 1, "it needs no variables: %s", without.Output())
	}
}
