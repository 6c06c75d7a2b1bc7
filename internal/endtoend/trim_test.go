package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// largePurchases are as large as bodies can be, so that a few of them fill a file of the server.
func largePurchases(from, until int) (bodies []string) {
	for _, body := range purchases(from, until) {
		bodies = append(bodies, strings.TrimSuffix(body, "}")+`,"pad":"`+strings.Repeat("x", 500_000)+`"}`)
	}
	return bodies
}

// setupTrimmed starts an ingest that keeps the newest ten events, or some more, and an archive.
func setupTrimmed(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), listen: ports.Free(t), provider: newProvider(t)}
	w.provider.URL = "http://" + w.listen + "/api/payments/provider/webhook"
	w.startIngest(t, trims...)
	w.database = testenv.Database(t)
	return w
}

var trims = []string{"LOG_KEEP=10", "ARCHIVE_INTERVAL=100ms"}

// awaitTrimmed delivers more until the server has nothing before seq any more, and returns the head.
// Events in one segment with the newest events stay until there are newer ones.
func (w *world) awaitTrimmed(t *testing.T, seq uint64) (head uint64) {
	t.Helper()
	log, info := w.connect(t)
	defer log.Close()
	wait.Until(t, func() bool {
		w.deliver(t, largePurchases(int(info.Last)+1, int(info.Last)+1)...)
		var err error
		info, err = log.Info(t.Context())
		require.NoError(t, err)
		return info.ServerFirst >= seq
	}, "the log is trimmed")
	return info.Last
}

func TestATrimmedLogLosesNothing(t *testing.T) {
	t.Parallel()
	w := setupTrimmed(t)
	first := w.startProjector(t)
	for round := range 3 {
		w.deliver(t, largePurchases(round*12+1, round*12+12)...)
		if round == 0 {
			w.awaitProjected(t)
			stop(t, first)
		}
		w.ingest.Kill() // while it archives and trims
		w.startIngest(t, trims...)
	}
	head := w.awaitTrimmed(t, 17) // a file has 16 of them
	var behind struct{ Lag struct{ Events uint64 } }
	said := w.run(t, "status", "--json")
	require.NoError(t, json.Unmarshal([]byte(said), &behind), said)
	require.Equal(t, head-12, behind.Lag.Events, "also what only the archive has")
	w.startProjector(t)
	w.awaitProjected(t)
	w.requireAllAccounted(t)
	status, output := w.check(t, "--json")
	require.Zero(t, status, output)
	var found struct{ First, Last, Events uint64 }
	require.NoError(t, json.Unmarshal([]byte(strings.NewReplacer("first_seq", "First", "last_seq", "Last").Replace(output)), &found))
	require.GreaterOrEqual(t, found.First, uint64(17))
	require.Equal(t, []uint64{head, head - found.First + 1}, []uint64{found.Last, found.Events})

	// Readers get what is not there any more from the archive.
	require.Contains(t, w.run(t, "verify"), "is what the log gives")
	require.Contains(t, w.run(t, "explain", "evt_1"), "evt_1")
	key := "CHECKPOINT_KEY_FILE=" + filepath.Join(t.TempDir(), "key")
	made := testenv.Start(t, "ingest", append(w.env(), key), "checkpoint", "--new-key", "shop")
	require.Zero(t, made.Exit(t), made.Output())
	signed := testenv.Start(t, "ingest", append(w.env(), key), "checkpoint")
	require.Zero(t, signed.Exit(t), signed.Output())
	w.promote(t, "rebuild", "--promote")
	w.requireAllAccounted(t)
	w.database = testenv.Database(t)
	late := w.startProjector(t)
	w.awaitProjected(t)
	w.requireAllAccounted(t)
	stop(t, late)
	without := testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+w.database, "ARCHIVE_URL=none"), "verify")
	require.Equal(t, 1, without.Exit(t), without.Output())
	require.Contains(t, without.Output(), "seq 1 to ")
	require.Contains(t, without.Output(), "cannot be read")

	w.requireRestoredWhole(t, head)
}

// requireRestoredWhole loses the log, and restores all of it. It is trimmed again.
func (w *world) requireRestoredWhole(t *testing.T, head uint64) {
	t.Helper()
	w.awaitArchived(t, "ARCHIVE_URL="+filepath.Join(w.dir, "archive"))
	w.ingest.Kill()
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "log")))
	restored := testenv.Start(t, "ingest", append(w.env(), trims[0]), "restore", "--from", filepath.Join(w.dir, "archive"))
	require.Zero(t, restored.Exit(t), restored.Output())
	require.Contains(t, restored.Output(), fmt.Sprintf("seq 1 to %d", head))
	w.startIngest(t, trims...)
	w.ingest.WaitFor(t, "LOG_KEEP makes the archive the only copy")
	w.awaitTrimmed(t, 17)
	require.Contains(t, w.run(t, "verify"), "is what the log gives")
}

// Without LOG_KEEP ingest refuses a stream from which messages can be removed.
func TestATrimmableLogIsRefusedWithoutLogKeep(t *testing.T) {
	t.Parallel()
	w := setupTrimmed(t)
	w.deliver(t, purchases(1, 3)...)
	stop(t, w.ingest)
	w.startIngest(t)
	w.ingest.WaitFor(t, "the stream was made with LOG_KEEP")
	status, _, err := w.provider.Deliver(t.Context(), purchases(4, 4)[0])
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	stop(t, w.ingest)
	w.startIngest(t, "LOG_KEEP=1000h")
	w.deliver(t, purchases(4, 4)...)

	// A stream that was made without it keeps everything.
	w = setup(t)
	w.deliver(t, purchases(1, 3)...)
	stop(t, w.ingest)
	w.startIngest(t, trims...)
	w.deliver(t, purchases(4, 4)...)
	w.ingest.WaitFor(t, "made without LOG_KEEP")
}

func TestLogKeepNeedsAnArchiveAndAnAmount(t *testing.T) {
	t.Parallel()
	for _, wrong := range []struct{ env, said string }{
		{"LOG_KEEP=0", "must be a number of messages, or a duration like 720h"},
		{"LOG_KEEP=30d", "must be a number of messages, or a duration like 720h"},
		{"ARCHIVE_URL=none", "only archived events can be removed from the log; name an archive, or unset LOG_KEEP"},
	} {
		env := []string{"DATA_DIR=" + t.TempDir(), "PROVIDER_WEBHOOK_SECRET=" + secret, "LOG_KEEP=10", wrong.env}
		ingest := testenv.Start(t, "ingest", env)
		require.NotZero(t, ingest.Exit(t), ingest.Output())
		require.Contains(t, ingest.Output(), wrong.said, fmt.Sprint(wrong))
	}
}
