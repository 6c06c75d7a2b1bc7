package endtoend

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// setupBlocks is an installation that was killed, with a log of three blocks.
func setupBlocks(t *testing.T) (w *world, bodies []string) {
	t.Helper()
	w = start(t, t.TempDir())
	for n := range 42 {
		bodies = append(bodies, fmt.Sprintf(`{"id":"e%d","eventType":"checkout.completed","object":{"pad":%q}}`, n, strings.Repeat("x", 400_000)))
	}
	w.deliver(t, bodies...)
	w.ingest.Kill()
	return w, bodies
}

func (w *world) block(number int) string {
	return filepath.Join(w.dir, "log/jetstream/PAYFOLD/streams", testenv.Stream, "msgs", fmt.Sprint(number)+".blk")
}

// flipBit changes one bit of a file.
func flipBit(t *testing.T, file string, at int) {
	t.Helper()
	opened, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	defer opened.Close()
	one := make([]byte, 1)
	_, err = opened.ReadAt(one, int64(at))
	require.NoError(t, err)
	one[0] ^= 4
	_, err = opened.WriteAt(one, int64(at))
	require.NoError(t, err)
}

// readTree returns the contents of all files in a folder, by path.
func readTree(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			content, err := os.ReadFile(filepath.Join(folder, path))
			require.NoError(t, err)
			out[path] = string(content)
		}
		return err
	}))
	return out
}

// requireStartRefused starts ingest, which must end with 1 and change nothing in the log. It
// returns the output.
func (w *world) requireStartRefused(t *testing.T, env ...string) string {
	t.Helper()
	before := readTree(t, filepath.Join(w.dir, "log"))
	ingest := testenv.Start(t, "ingest", append(append(w.env(), "LISTEN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET="+secret), env...))
	require.Equal(t, 1, ingest.Exit(t))
	require.Equal(t, before, readTree(t, filepath.Join(w.dir, "log")))
	return ingest.Output()
}

// check runs ingest check to its end.
func (w *world) check(t *testing.T, args ...string) (status int, output string) {
	t.Helper()
	check := testenv.Start(t, "ingest", w.env(), append([]string{"check"}, args...)...)
	return check.Exit(t), check.Output()
}

func TestIngestRefusesADamagedLogAndCheckSalvagesIt(t *testing.T) {
	t.Parallel()
	w, bodies := setupBlocks(t)
	status, output := w.check(t)
	require.Zero(t, status, output)
	require.Contains(t, output, "42 events, seq 1 to 42, in 3 blocks")

	flipBit(t, w.block(1), 1_000_000) // in the third event
	flipBit(t, w.block(2), 30)        // in the first event of the block
	output = w.requireStartRefused(t)
	require.Contains(t, output, w.block(1)+" at byte 800")
	require.Contains(t, output, "seq 3: ")
	require.Contains(t, output, w.block(2)+" at byte 0: seq 21: ")
	require.Contains(t, output, "nothing in it was changed")

	saved := filepath.Join(t.TempDir(), "events.jsonl")
	status, output = w.check(t, "--salvage", saved)
	require.Equal(t, 3, status, output)
	require.Contains(t, output, "written to "+saved+": 40 events")
	status, output = w.check(t, "--json")
	require.Equal(t, 3, status, output)
	require.Contains(t, output, `"whole":false`)
	require.Contains(t, output, `"from_seq":21,"to_seq":21`)

	other := start(t, t.TempDir())
	send := testenv.Start(t, "ingest", []string{"PROVIDER_WEBHOOK_SECRET=" + secret}, "send", "--url", other.provider.URL, "--salvaged", saved)
	require.Zero(t, send.Exit(t), send.Output())
	status, output = other.check(t)
	require.Zero(t, status, output)
	require.Contains(t, output, "40 events, seq 1 to 40")
	require.Contains(t, output, "ingest is running")

	flipBit(t, w.block(1), 1_000_000)
	flipBit(t, w.block(2), 30)
	w.startIngest(t)
	w.deliver(t, bodies[0], bodies[2], bodies[20], bodies[41]) // all of them are duplicates
	require.EqualValues(t, 42, w.head(t))
	w.ingest.Signal(syscall.SIGTERM)
	require.Zero(t, w.ingest.Exit(t))
	status, output = w.check(t, "--json")
	require.Zero(t, status, output)
	require.Contains(t, output, `"closed":true,"whole":true`)
}

func TestAMistypedStreamIsRefusedAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := start(t, t.TempDir())
	w.deliver(t, `{"id":"e1","eventType":"t","object":{}}`)
	w.ingest.Kill()
	require.Contains(t, w.requireStartRefused(t, "NATS_STREAM=PAYMENST"), "the log here is stream PAYMENTS, and NATS_STREAM is PAYMENST")
	w.startIngest(t)
	require.EqualValues(t, 1, w.head(t))
}

// First as docs/lost-log.md describes it, then without removing the watermark.
func TestABackupIsRestoredAsDocumented(t *testing.T) {
	t.Parallel()
	w := start(t, t.TempDir())
	log, backup := filepath.Join(w.dir, "log"), filepath.Join(t.TempDir(), "log")
	w.deliver(t, `{"id":"e1","eventType":"t","object":{}}`)
	require.NoError(t, os.CopyFS(backup, os.DirFS(log))) // while ingest runs
	w.deliver(t, `{"id":"e2","eventType":"t","object":{}}`)
	w.ingest.Kill()

	watermark, err := os.ReadFile(filepath.Join(log, "watermark"))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(log))
	require.NoError(t, os.Remove(filepath.Join(backup, "watermark")))
	require.NoError(t, os.CopyFS(log, os.DirFS(backup)))
	w.startIngest(t)
	require.EqualValues(t, 1, w.head(t))
	w.ingest.Kill()

	require.NoError(t, os.WriteFile(filepath.Join(log, "watermark"), watermark, 0o600)) // as if the backup was restored over the log
	require.Contains(t, w.requireStartRefused(t), "remove "+filepath.Join(log, "watermark"))
	require.NoError(t, os.Remove(filepath.Join(log, "watermark")))
	w.startIngest(t)
	require.EqualValues(t, 1, w.head(t))
}

// As the runbook says it of PayfoldLogDamaged.
func TestADamagedLogIsReplacedWhileItsArchiveIsWhole(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "archive")
	url := "ARCHIVE_URL=" + place
	w, _ := setupBlocks(t)
	w.startIngest(t, url, "ARCHIVE_INTERVAL=100ms")
	w.awaitArchived(t, url)
	flipBit(t, w.block(1), 1_000_000)
	w.deliver(t, `{"id":"later","eventType":"t","object":{}}`)

	check := testenv.Start(t, "ingest", append(w.env(), url), "check", "--archive", "--full", "--json")
	require.Equal(t, 3, check.Exit(t), check.Output())
	require.Contains(t, check.Output(), `"from_seq":3,"to_seq":3`)
	require.NotContains(t, check.Output(), `"faults"`)
	w.awaitArchived(t, url)
	w.ingest.Signal(syscall.SIGTERM)
	require.Zero(t, w.ingest.Exit(t))
	require.Contains(t, w.requireStartRefused(t), "seq 3: ")
	require.NoError(t, os.Rename(filepath.Join(w.dir, "log"), filepath.Join(w.dir, "log.damaged")))
	restore := testenv.Start(t, "ingest", w.env(), "restore", "--from", place)
	require.Zero(t, restore.Exit(t), restore.Output())
	w.startIngest(t, url)
	require.Contains(t, w.checkArchive(t, 0, url, "--full"), "43 events, seq 1 to 43")
}
