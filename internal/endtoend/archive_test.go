package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// archived asks ingest archive.
func (w *world) archived(t testing.TB, env ...string) (status archive.Status) {
	t.Helper()
	program := testenv.Start(t, "ingest", append(w.env(), env...), "archive", "--json")
	require.Zero(t, program.Exit(t), program.Output())
	require.NoError(t, json.Unmarshal([]byte(program.Output()), &status), program.Output())
	return status
}

// requireArchived waits until the archive holds the log, and compares both byte by byte.
func (w *world) requireArchived(t testing.TB) {
	t.Helper()
	log, info := w.connect(t)
	defer log.Close()
	place, err := storage.Settings{URL: filepath.Join(w.dir, "archive")}.Place()
	require.NoError(t, err)
	var opened *archive.Archive
	wait.Until(t, func() bool {
		opened, err = archive.Open(t.Context(), place, info.LogID)
		return err == nil && opened.Last() == info.Last
	}, "the archive holds the log")
	require.Empty(t, opened.Faults())
	require.NoError(t, opened.Check(t.Context(), func(fault error) { require.NoError(t, fault) }))
	read := func(from func(deliver func(archive.Record) error) error) (out []archive.Record) {
		require.NoError(t, from(func(r archive.Record) error {
			r.Header, r.Body = slices.Clone(r.Header), bytes.Clone(r.Body)
			out = append(out, r)
			return nil
		}))
		return out
	}
	live := read(func(deliver func(archive.Record) error) error {
		return log.ReadRecords(t.Context(), info.First, info.Last, deliver)
	})
	require.Equal(t, live, read(func(deliver func(archive.Record) error) error {
		return opened.Read(t.Context(), info.First, info.Last, deliver)
	}))
}

// After kills of ingest the archive continues without a gap.
func TestTheArchiveSurvivesKillsOfIngest(t *testing.T) {
	t.Parallel()
	w := &world{dir: t.TempDir(), listen: ports.Free(t), provider: newProvider(t)}
	w.provider.URL = "http://" + w.listen + "/api/payments/provider/webhook"
	const interval = "ARCHIVE_INTERVAL=100ms"
	for round := range 4 {
		w.startIngest(t, interval)
		for i := range 40 {
			w.deliver(t, pack(fmt.Sprintf("evt_%d_%d", round, i), fmt.Sprintf("pay_%d_%d", round, i), "u_1", 1))
		}
		w.ingest.Kill()
	}
	w.startIngest(t, interval)
	w.requireArchived(t)
	status := w.archived(t)
	require.Equal(t, []uint64{1, 160, 0}, []uint64{status.First, status.Last, status.LagMessages})
	require.Empty(t, status.Faults)
	stop(t, w.ingest)
}

func TestAPlaceThatIsAwayHoldsUpNoDelivery(t *testing.T) {
	t.Parallel()
	w := &world{dir: t.TempDir(), listen: ports.Free(t), provider: newProvider(t)}
	w.provider.URL = "http://" + w.listen + "/api/payments/provider/webhook"
	place := filepath.Join(w.dir, "archive")
	require.NoError(t, os.WriteFile(place, nil, 0o600)) // no folder can be there
	w.startIngest(t, "ARCHIVE_INTERVAL=100ms")
	w.ingest.WaitFor(t, "a new log is made, although the archive cannot be read")
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1))
	w.ingest.WaitFor(t, "the archive cannot be written now; deliveries are not affected")
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 1))
	require.NoError(t, os.Remove(place))
	w.requireArchived(t)
	stop(t, w.ingest)
}

// The archive's disk hangs like a network disk: a file cannot be opened.
func TestAnArchiveThatHangsHoldsUpNeitherDeliveriesNorTheEnd(t *testing.T) {
	t.Parallel()
	w := &world{dir: t.TempDir(), listen: ports.Free(t), provider: newProvider(t)}
	w.provider.URL = "http://" + w.listen + "/api/payments/provider/webhook"
	const interval = "ARCHIVE_INTERVAL=100ms"
	w.startIngest(t, interval)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1))
	w.requireArchived(t)
	stop(t, w.ingest)
	segments, err := filepath.Glob(filepath.Join(w.dir, "archive", "*", "*.seg"))
	require.NoError(t, err)
	require.Len(t, segments, 1)
	require.NoError(t, os.Rename(segments[0], filepath.Join(w.dir, "segment")))
	require.NoError(t, syscall.Mkfifo(segments[0], 0o600))

	w.startIngest(t, interval)
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 1))
	w.ingest.WaitFor(t, "the archive is behind the log")
	w.deliver(t, pack("evt_3", "pay_3", "u_1", 1))
	w.ingest.Signal(syscall.SIGTERM)
	require.Equal(t, 1, w.ingest.Exit(t))
	require.Contains(t, w.ingest.Output(), "the archive "+filepath.Join(w.dir, "archive")+" does not answer")

	require.NoError(t, os.Rename(filepath.Join(w.dir, "segment"), segments[0]))
	w.startIngest(t, interval)
	w.requireArchived(t)
	require.EqualValues(t, 3, w.head(t))
	stop(t, w.ingest)
}

func TestAnArchiveCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	w := &world{dir: t.TempDir(), listen: ports.Free(t), provider: newProvider(t)}
	w.provider.URL = "http://" + w.listen + "/api/payments/provider/webhook"
	w.startIngest(t, "ARCHIVE_URL=none", "ARCHIVE_INTERVAL=100ms")
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1))
	stop(t, w.ingest)
	names, err := os.ReadDir(w.dir)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(names, func(entry os.DirEntry) bool { return entry.Name() == "archive" }))
}
