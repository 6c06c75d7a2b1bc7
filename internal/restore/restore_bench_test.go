package restore_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/restore"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/archiver"
)

// BenchmarkRestore archives a log of EVENTS (200,000) events and restores it into a new data
// directory. It prints how much of the time goes into writing, and into reading back and comparing.
func BenchmarkRestore(b *testing.B) {
	events := testenv.Number(b, "EVENTS", 200_000)
	log := testenv.NewLog(b, 64)
	log.Fill(b, testenv.Customers(10_000).Event, events, "a secret of the benchmark")
	path := filepath.Join(b.TempDir(), "archive")
	archiver.RunToEnd(b, archive.Config{Place: placeAt(b, path), Source: log.Log, PollInterval: 10 * time.Millisecond}, nil)
	for b.Loop() {
		began, written := time.Now(), time.Time{}
		c := config(placeAt(b, path))
		c.Progress = func(doing string, _, _ uint64) {
			if doing == "restored" {
				written = time.Now()
			}
		}
		result, err := restore.Embedded(b.Context(), c, b.TempDir(), testenv.Logger(b))
		require.NoError(b, err)
		require.EqualValues(b, events, result.Last)
		all := time.Since(began)
		fmt.Printf("restore of %d events: %.1f s, %.0f events/s, %.1f minutes a million; %.0f %% of it written, the rest read back and compared\n",
			events, all.Seconds(), float64(events)/all.Seconds(), all.Minutes()*1e6/float64(events), 100*written.Sub(began).Seconds()/all.Seconds())
	}
}
