package tools

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine has what the console and the restore drill need: a database with the tables of one event, and an
// archive that has it.
type machine struct {
	bin, dir string
}

func buildPrograms(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "./cmd/...")
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	return bin
}

// startMachine runs ingest, and a projector with a private Postgres, until the test ends.
func startMachine(t *testing.T, bin string) machine {
	t.Helper()
	// Where root runs the tests, Postgres runs as another user, who cannot enter t.TempDir().
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	m := machine{bin, dir}
	t.Cleanup(m.remove)
	listen := m.start(t, "listen_addr", "ingest", "LISTEN_ADDR=127.0.0.1:0", "ARCHIVE_INTERVAL=1s")
	m.start(t, "admin_addr", "projector")
	m.until(t, "ingest", []string{"send", "--url", "http://" + listen + "/api/payments/provider/webhook", root + "/examples/first-event.json"}, "200 ")
	m.until(t, "ingest", []string{"archive"}, "seq 1 to 1,")
	m.until(t, "projector", []string{"explain", "evt_first_1"}, "applied")
	return m
}

// remove removes the folder and that of the socket of Postgres.
func (m machine) remove() {
	text, _ := os.ReadFile(filepath.Join(m.dir, "postgres.dsn"))
	if at, err := url.Parse(strings.TrimSpace(string(text))); err == nil && strings.HasPrefix(at.Query().Get("host"), os.TempDir()) {
		_ = os.RemoveAll(at.Query().Get("host"))
	}
	_ = os.RemoveAll(m.dir)
}

func (m machine) command(program string, args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(m.bin, program), args...)
	command.Env = append(os.Environ(), "DATA_DIR="+m.dir, "ADMIN_ADDR=127.0.0.1:0", "LOG_FORMAT=json", "PROVIDER_WEBHOOK_SECRET="+signingSecret)
	return command
}

// start starts a program, and returns the first value that its log has under the key.
func (m machine) start(t *testing.T, key, program string, env ...string) string {
	t.Helper()
	command := m.command(program)
	command.Env = append(command.Env, env...)
	output, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	lines := bufio.NewScanner(output)
	value := await(t, lines, program, key)
	go func() {
		for lines.Scan() { // a full pipe would stop the program
		}
	}()
	return value
}

// until runs a command until it succeeds and says text.
func (m machine) until(t *testing.T, program string, args []string, text string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		output, err := m.command(program, args...).CombinedOutput()
		if err == nil && strings.Contains(string(output), text) {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s %v: %s", program, args, output)
	}
}

// consoleURL is DATABASE_URL of the role that only reads.
func (m machine) consoleURL(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "postgres.console.dsn"))
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// drill returns the arguments of a restore drill with the archive of the machine, and a folder for its volume.
func (m machine) drill(t *testing.T, args []string, files string) []string {
	t.Helper()
	args = slices.Clone(args)
	for given, here := range map[string]string{"s3://bucket/shop": filepath.Join(m.dir, "archive"), "/scratch": filepath.Join(files, "scratch")} {
		at := slices.Index(args, given)
		require.Positive(t, at, given)
		args[at] = here
	}
	return args
}
