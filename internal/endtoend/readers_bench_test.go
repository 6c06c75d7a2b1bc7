//go:build linux

package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// BenchmarkReaders compares the sources of a log of EVENTS events of a shop in one run: its
// archive, the server's files, and the server. Each is read alone, and by a rebuild.
func BenchmarkReaders(b *testing.B) {
	count := testenv.Number(b, "EVENTS", 200_000)
	w, beginning := startArchived(b, count)
	sources := []struct{ name, archive string }{
		{"its archive", filepath.Join(w.dir, "archive")},
		{"the server's files", storage.None},
		{"the server", beginning}, // files are not read where there is an archive
	}
	head := w.head(b)
	raw, rebuilt := make([][]float64, len(sources)), make([][]float64, len(sources))
	rate := func(work func()) float64 {
		began := time.Now()
		work()
		return float64(head) / time.Since(began).Seconds()
	}
	const rounds = 5
	for round := range rounds {
		for i := range sources {
			i = (i + round) % len(sources)
			from := sources[i]
			log := reader(b, w.dir, from.archive)
			raw[i] = append(raw[i], rate(func() {
				require.NoError(b, log.ReadUntil(b.Context(), 1, head, func(events.Message) error { return nil }))
			}))
			log.Close()
			database := testenv.Database(b)
			rebuilt[i] = append(rebuilt[i], rate(func() {
				program := testenv.Start(b, "projector", append(w.env(), "DATABASE_URL="+database, "ARCHIVE_URL="+from.archive), "rebuild")
				require.Zero(b, program.ExitWithin(b, time.Hour), program.Output())
			}))
		}
	}
	fmt.Printf("\n%d events of a shop, %d bytes each, medians of %d rounds that take turns\n\n", head, meanSize(testenv.ShopEvent), rounds)
	fmt.Printf("%-20s %14s %14s\n", "events/s from", "read alone", "rebuild")
	for i, from := range sources {
		fmt.Printf("%-20s %14.0f %14.0f\n", from.name, median(raw[i]), median(rebuilt[i]))
	}
	for i, other := range sources[1:] {
		fmt.Printf("the archive / %s: %.2f alone, %.2f rebuild\n", other.name, medianRatio(raw[0], raw[i+1]), medianRatio(rebuilt[0], rebuilt[i+1]))
	}
	fmt.Println()
}

// medianRatio is the median of the ratios of the rounds.
func medianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return median(ratios)
}

// startArchived starts ingest with a log of that many events, all of which are archived. beginning
// is an archive with only the first of them.
func startArchived(b *testing.B, count int) (w *world, beginning string) {
	b.Helper()
	const interval, few = "ARCHIVE_INTERVAL=100ms", 64
	w, beginning = &world{dir: b.TempDir(), listen: ports.Free(b), provider: newProvider(b)}, b.TempDir()
	log := &testenv.Log{Dir: w.dir}
	fill := func(from, to int) {
		log.Start(b, 64)
		log.Fill(b, func(i int) string { return testenv.ShopEvent(from + i) }, to-from, secret)
		log.Stop(b)
		w.startIngest(b, interval)
		w.awaitArchived(b, interval)
	}
	fill(0, few)
	w.ingest.Kill()
	require.NoError(b, os.CopyFS(beginning, os.DirFS(filepath.Join(w.dir, "archive"))))
	fill(few, count)
	return w, beginning
}

// reader connects to the log as a projector does, with that archive.
func reader(t testing.TB, dir, archiveURL string) *eventlog.Log {
	t.Helper()
	var place storage.Place
	if archiveURL != storage.None {
		place = &storage.Folder{Root: archiveURL}
	}
	log, err := eventlog.Connect(eventlog.Config{DataDir: dir, Stream: testenv.Stream, Archive: place, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	_, err = log.AwaitInfo(t.Context(), wait.Timeout)
	require.NoError(t, err)
	return log
}
