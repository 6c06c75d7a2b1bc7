package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/fingerprint"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// changed is a log with other records.
type changed struct {
	*testenv.Log
	change func(*archive.Record)
}

func (c changed) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return c.Log.ReadRecords(ctx, from, until, func(r archive.Record) error {
		c.change(&r)
		return deliver(r)
	})
}

func otherBody(log *testenv.Log) archive.Source {
	return changed{log, func(r *archive.Record) { r.Body = []byte("{}") }}
}

// world is a log, and a folder for its archive.
type world struct {
	*testenv.Log
	path string

	out wait.Buffer // what archivers log
}

func setup(t testing.TB) *world {
	t.Helper()
	return &world{Log: testenv.NewLog(t, 8), path: filepath.Join(t.TempDir(), "archive")}
}

// setupArchived returns a world whose log has count messages, all of them archived.
func setupArchived(t testing.TB, count int) *world {
	t.Helper()
	w := setup(t)
	w.fill(t, 1, count)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	return w
}

func (w *world) logged() string { return w.out.String() }

// fill delivers events number from to until, with bodies of many lengths.
func (w *world) fill(t testing.TB, from, until int) {
	t.Helper()
	for i := from; i <= until; i++ {
		w.Deliver(t, fmt.Sprintf(`{"id":"evt_%d","eventType":"checkout.completed","object":{"customer":"cus_%d","note":"%s"}}`, i, i%7, strings.Repeat("x", i*37%500)))
	}
}

func (w *world) place(t testing.TB) storage.Place {
	t.Helper()
	place, err := storage.Settings{URL: w.path}.Place()
	require.NoError(t, err)
	return place
}

// archiver cuts a segment as soon as a message waits, with about two records in a frame and ten
// in a segment.
func (w *world) archiver(place storage.Place) *archive.Archiver {
	return w.archiverOf(place, w.Log, 0)
}

func (w *world) archiverOf(place storage.Place, source archive.Source, interval time.Duration) *archive.Archiver {
	return archive.NewArchiver(archive.Config{
		Place: place, Source: source, Interval: interval, Logger: slog.New(slog.NewTextHandler(&w.out, nil)),
		Registerer: prometheus.NewRegistry(), SegmentBytes: 8_700, FrameBytes: 1 << 10, PollInterval: time.Millisecond, MinWait: time.Millisecond,
	})
}

// run runs an archiver until stop is called.
func run(t *testing.T, archiver *archive.Archiver) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- archiver.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func (w *world) id(t testing.TB) string {
	t.Helper()
	head, err := w.Head(t.Context())
	require.NoError(t, err)
	return head.LogID
}

func (w *world) open(t testing.TB, place storage.Place) *archive.Archive {
	t.Helper()
	opened, err := archive.Open(t.Context(), place, w.id(t))
	require.NoError(t, err)
	return opened
}

// records returns what ReadRecords of a log, or Read of an archive, delivers.
func records(t testing.TB, read func(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error, from, until uint64) (out []archive.Record) {
	t.Helper()
	require.NoError(t, read(t.Context(), from, until, func(r archive.Record) error {
		r.Header, r.Body = slices.Clone(r.Header), bytes.Clone(r.Body)
		out = append(out, r)
		return nil
	}))
	return out
}

// requireWhole compares everything that is archived with the log, byte by byte, and its roots.
// The archive must reach the log's end.
func (w *world) requireWhole(t testing.TB, place storage.Place) *archive.Archive {
	t.Helper()
	opened := w.open(t, place)
	require.Empty(t, opened.Faults())
	require.NoError(t, opened.Check(t.Context(), func(fault error) { require.NoError(t, fault) }))
	head, err := w.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uint64{head.First, head.Last}, []uint64{opened.First(), opened.Last()})
	live := records(t, w.ReadRecords, head.First, head.Last)
	require.Equal(t, live, records(t, opened.Read, head.First, head.Last))
	tree := new(fingerprint.Tree)
	for _, r := range live {
		tree.Append(fingerprint.Leaf(r.Message()))
	}
	end := opened.Segments()[len(opened.Segments())-1]
	require.Equal(t, archive.Hash(tree.Root()), end.Root)
	return opened
}

// files lists what is in the archive's folder, without what a heal has kept.
func (w *world) files(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.path, "*", "*"))
	require.NoError(t, err)
	return slices.DeleteFunc(paths, func(path string) bool { return strings.Contains(path, ".replaced-") })
}

var errKilled = errors.New("killed")

// killedAfter is the archive of a process that is killed after so many changes of the file system.
func (w *world) killedAfter(changes int) storage.Place {
	return &stepping{Folder: storage.Folder{Root: w.path}, Step: func(string) error {
		if changes--; changes < 0 {
			return errKilled
		}
		return nil
	}}
}

// damage changes one byte of a file.
func damage(t testing.TB, path string, at int64) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[at] ^= 1
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// metric returns the value of a gauge or of a counter.
func metric(t *testing.T, registerer prometheus.Registerer, name string) float64 {
	t.Helper()
	return metrics.Value(t, registerer.(prometheus.Gatherer), name)
}
