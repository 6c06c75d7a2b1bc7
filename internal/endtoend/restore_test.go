package endtoend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// setupArchive is setup with an archive outside of the data directory that follows closely. url is
// the variable that names its place.
func setupArchive(t *testing.T) (w *world, place, url string) {
	t.Helper()
	place = t.TempDir()
	url = "ARCHIVE_URL=" + place
	w = setup(t)
	w.ingest.Kill()
	w.startIngest(t, url, "ARCHIVE_INTERVAL=100ms")
	return w, place, url
}

// purchases returns the bodies of purchases number from to until, by ten users.
func purchases(from, until int) (bodies []string) {
	for i := from; i <= until; i++ {
		bodies = append(bodies, pack(fmt.Sprintf("evt_%d", i), fmt.Sprintf("pay_%d", i), fmt.Sprintf("u_%d", i%10), i))
	}
	return bodies
}

// loseDisk kills ingest and removes its data directory.
func (w *world) loseDisk(t *testing.T) {
	t.Helper()
	w.ingest.Kill()
	require.NoError(t, os.RemoveAll(w.dir))
}

// restore runs ingest restore. The first run is killed before it has ended.
func (w *world) restore(t *testing.T, from string, args ...string) (output string) {
	t.Helper()
	args = append([]string{"restore", "--from", from}, args...)
	wait.Until(t, func() bool {
		require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "log"))) // of a run that was too fast
		killed := testenv.Start(t, "ingest", w.env(), args...)
		wait.Until(t, func() bool {
			// The server writes it last of a new stream. Before that there is no stream that is marked.
			_, err := os.Stat(filepath.Join(w.dir, "log", "jetstream", "PAYFOLD", "streams", testenv.Stream, "meta.sum"))
			return err == nil || killed.HasExited()
		}, "the restore has begun")
		killed.Kill()
		_, found := w.check(t)
		return strings.Contains(found, "is being restored from an archive")
	}, "a restore is killed before it has ended")
	refused := testenv.Start(t, "ingest", append(w.env(), "LISTEN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET="+secret, "ARCHIVE_URL="+from))
	require.Equal(t, 1, refused.Exit(t))
	require.Contains(t, refused.Output(), "is being restored from an archive")
	again := testenv.Start(t, "ingest", w.env(), args...)
	require.Zero(t, again.Exit(t), again.Output())
	return again.Output()
}

// awaitArchived waits until the archive has all of the log.
func (w *world) awaitArchived(t testing.TB, url string) {
	t.Helper()
	wait.Until(t, func() bool {
		status := w.archived(t, url)
		return status.LagMessages == 0 && status.Last == w.head(t)
	}, "the archive has the log")
}

// checkArchive runs ingest check --archive, which must end with this status.
func (w *world) checkArchive(t *testing.T, status int, url string, args ...string) (output string) {
	t.Helper()
	p := testenv.Start(t, "ingest", append(w.env(), url), append([]string{"check", "--archive"}, args...)...)
	require.Equal(t, status, p.Exit(t), p.Output())
	return p.Output()
}

func TestALostDiskIsRestoredFromItsArchive(t *testing.T) {
	t.Parallel()
	w, place, url := setupArchive(t)
	w.startProjector(t)
	w.deliver(t, purchases(1, 80)...)
	w.awaitProjected(t)
	w.awaitArchived(t, url)
	require.Contains(t, w.checkArchive(t, 0, url), "has the same messages as the log")
	w.loseDisk(t)

	metrics, began := filepath.Join(t.TempDir(), "payfold.prom"), time.Now()
	drill := testenv.Start(t, "ingest", w.env(), "restore", "--from", place, "--check", "--metrics-file", metrics)
	require.Zero(t, drill.Exit(t), drill.Output())
	require.Contains(t, drill.Output(), "can be restored")
	requireDrill(t, metrics, 80, began)
	written, err := os.ReadFile(metrics)
	require.NoError(t, err)
	failing := testenv.Start(t, "ingest", w.env(), "restore", "--from", t.TempDir(), "--check", "--metrics-file", metrics)
	require.NotZero(t, failing.Exit(t), failing.Output())
	kept, err := os.ReadFile(metrics)
	require.NoError(t, err)
	require.Equal(t, written, kept, "only a success is written")
	_, err = os.Stat(w.dir)
	require.ErrorIs(t, err, fs.ErrNotExist, "a drill touches nothing")
	refused := testenv.Start(t, "ingest", append(w.env(), "LISTEN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET="+secret, url))
	require.Equal(t, 1, refused.Exit(t), refused.Output())
	require.Contains(t, refused.Output(), "ingest restore --from "+place, "no new log is begun in its place")

	require.Contains(t, w.restore(t, place), "seq 1 to 80")
	require.Contains(t, w.checkArchive(t, 0, url, "--full"), "seq 1 to 80")
	w.startIngest(t, url, "ARCHIVE_INTERVAL=100ms")
	w.deliver(t, purchases(75, 90)...) // six of them again
	w.awaitProjected(t)
	require.Contains(t, w.run(t, "verify"), "is what the log gives")
	w.requireAllAccounted(t)
	w.awaitArchived(t, url)
	require.Contains(t, w.checkArchive(t, 0, url, "--full"), "has the same messages as the log")
}

// requireDrill checks what a drill has written for node_exporter.
func requireDrill(t *testing.T, file string, messages float64, began time.Time) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	value := func(name string) (value float64) {
		_, after, found := strings.Cut(string(text), "\n"+name+" ")
		require.True(t, found, "%s in %s", name, text)
		_, err := fmt.Sscan(after, &value)
		require.NoError(t, err)
		return value
	}
	require.InDelta(t, messages, value("payfold_restore_drill_messages"), 0)
	require.Positive(t, value("payfold_restore_drill_duration_seconds"))
	success := value("payfold_restore_drill_success_timestamp_seconds")
	require.GreaterOrEqual(t, success, float64(began.Unix()))
	require.LessOrEqual(t, success, float64(time.Now().Unix()+1))
}

// Messages that were not archived are lost with the disk. Their effects stay in the tables, their
// sequences are not used again, and the provider can send them again.
func TestWhatTheArchiveLacksIsMarkedAndCanBeSentAgain(t *testing.T) {
	t.Parallel()
	w, place, url := setupArchive(t)
	projector := w.startProjector(t)
	w.deliver(t, purchases(1, 40)...)
	w.awaitArchived(t, url)
	w.ingest.Kill()
	w.startIngest(t, "ARCHIVE_URL=none")
	w.deliver(t, purchases(41, 50)...)
	w.awaitProjected(t)
	stop(t, projector)
	before := w.balances(t)
	w.loseDisk(t)

	// Without the marks a projector refuses the log, and says up to where its tables are.
	w.restore(t, place)
	w.startIngest(t, url)
	refusing := w.startProjector(t)
	require.Equal(t, 1, refusing.Exit(t), refusing.Output())
	require.Contains(t, refusing.Output(), "applied up to seq 50")
	require.Contains(t, refusing.Output(), "--lost-until")
	w.loseDisk(t)

	require.Contains(t, w.restore(t, place, "--lost-until", "50"), "seq 41 to 50 are lost")
	w.startIngest(t, url, "ARCHIVE_INTERVAL=100ms")
	w.startProjector(t)
	w.deliver(t, purchases(41, 50)...)
	w.awaitProjected(t)
	require.Equal(t, before, w.balances(t), "what was sent again takes no effect twice")
	require.EqualValues(t, 60, w.head(t))
	w.promote(t, "rebuild", "--promote")
	require.Equal(t, before, w.balances(t))
	verified := w.run(t, "verify", "--strict")
	require.Contains(t, verified, "10 messages were lost")
	require.Contains(t, verified, "is what the log gives")
	w.awaitArchived(t, url)
	require.Contains(t, w.checkArchive(t, 0, url, "--full"), "seq 1 to 60")
}

// The archive alone gives the log, and the log gives the tables.
func TestLogAndDatabaseAreBothMadeAgainFromTheArchive(t *testing.T) {
	t.Parallel()
	w, place, url := setupArchive(t)
	projector := w.startProjector(t)
	w.deliver(t, purchases(1, 60)...)
	w.awaitProjected(t)
	w.awaitArchived(t, url)
	stop(t, projector)
	before := w.balances(t)
	w.loseDisk(t)
	w.database = testenv.Database(t)

	w.restore(t, place)
	w.startIngest(t, url)
	w.startProjector(t)
	w.awaitProjected(t)
	require.Equal(t, before, w.balances(t))
	require.Contains(t, w.run(t, "verify", "--strict"), "is what the log gives")
}

// As docs/lost-log.md describes it, with a copy of the archive.
func TestALogMovesFromOneMachineIntoAClusterAndBack(t *testing.T) {
	t.Parallel()
	w, place, url := setupArchive(t)
	w.deliver(t, purchases(1, 20)...)
	projector := w.startProjector(t)
	w.awaitProjected(t)
	for i, cluster := range []string{testenv.NewNATS(t).URL, ""} {
		first := 20*i + 21
		w.awaitArchived(t, url)
		archive := testenv.Start(t, "ingest", append(w.env(), url), "archive")
		require.Zero(t, archive.Exit(t), archive.Output())
		require.Contains(t, archive.Output(), "it holds all of the log")
		stop(t, w.ingest)
		stop(t, projector)

		copied := t.TempDir()
		require.NoError(t, os.CopyFS(copied, os.DirFS(place)))
		place, url = copied, "ARCHIVE_URL="+copied
		w.dir, w.cluster = t.TempDir(), cluster
		restore := testenv.Start(t, "ingest", append(w.env(), "STREAM_REPLICAS=1"), "restore", "--from", place)
		require.Zero(t, restore.Exit(t), restore.Output())
		w.startIngest(t, url, "ARCHIVE_INTERVAL=100ms")
		projector = w.startProjector(t)
		w.deliver(t, purchases(first-5, first+19)...) // five of them again
		w.awaitProjected(t)
		w.requireAllAccounted(t)
		require.Contains(t, w.run(t, "verify", "--strict"), "is what the log gives")
		w.awaitArchived(t, url)
		require.Contains(t, w.checkArchive(t, 0, url, "--full"), "has the same messages as the log")
	}
	require.EqualValues(t, 60, mustQuery[int64](t, w.database, "select count(*) from portal.payment"))
}

func TestALostArchiveIsMadeAnewFromTheLog(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.ingest.Kill()
	w.startIngest(t, "ARCHIVE_INTERVAL=100ms")
	w.deliver(t, purchases(1, 30)...)
	w.requireArchived(t)
	w.ingest.Kill()
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "archive")))
	w.startIngest(t, "ARCHIVE_INTERVAL=100ms")
	w.deliver(t, purchases(31, 40)...)
	w.requireArchived(t)
}

// balances returns each user's balance.
func (w *world) balances(t *testing.T) []string {
	t.Helper()
	return mustQuery[[]string](t, w.database, "select array_agg(user_id || ' ' || balance order by user_id) from portal.credits")
}

func TestCheckFindsWhereArchiveAndLogDiffer(t *testing.T) {
	t.Parallel()
	w, place, url := setupArchive(t)
	w.deliver(t, purchases(1, 20)...)
	w.awaitArchived(t, url)
	w.ingest.Kill()
	segments, err := filepath.Glob(filepath.Join(place, "*", "*.seg"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	content, err := os.ReadFile(segments[0])
	require.NoError(t, err)
	changed := append([]byte{}, content...)
	changed[200] ^= 1 // within its first frame
	require.NoError(t, errors.Join(os.Chmod(segments[0], 0o600), os.WriteFile(segments[0], changed, 0o600)))
	require.Contains(t, w.checkArchive(t, 3, url, "--full"), filepath.Base(segments[0]))

	w.startIngest(t, url, "ARCHIVE_INTERVAL=100ms")
	heal := testenv.Start(t, "ingest", append(w.env(), url), "archive", "--heal")
	require.Zero(t, heal.Exit(t), heal.Output())
	require.Contains(t, heal.Output(), "are whole again")
	w.checkArchive(t, 0, url, "--full")
	segments, err = filepath.Glob(filepath.Join(place, "*", "*.seg"))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(segments[0], 10))
	for _, command := range [][]string{{"archive"}, {"restore", "--from", place, "--check"}} {
		damaged := testenv.Start(t, "ingest", append(w.env(), url), command...)
		require.Equal(t, 3, damaged.Exit(t), damaged.Output())
		require.Contains(t, damaged.Output(), filepath.Base(segments[0]))
	}
	w.ingest.Kill()

	other := setup(t) // another log's archive in its place
	other.ingest.Kill()
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "log")))
	require.NoError(t, os.Rename(filepath.Join(other.dir, "log"), filepath.Join(w.dir, "log")))
	require.Contains(t, w.checkArchive(t, 3, url), "holds segments of log")
}
