package blockstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestTheDiskIsMeasuredAtEachScrape(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "log")
	registry := prometheus.NewRegistry()
	registry.MustRegister(blockstore.NewDisk(folder))
	count, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	require.Zero(t, count, "there is no value without the folder")

	require.NoError(t, os.Mkdir(folder, 0o700))
	measure := func() (free, size float64) {
		families, err := registry.Gather()
		require.NoError(t, err)
		require.Len(t, families, 2)
		require.Equal(t, "payfold_log_disk_free_bytes", families[0].GetName())
		return families[0].GetMetric()[0].GetGauge().GetValue(), families[1].GetMetric()[0].GetGauge().GetValue()
	}
	// Other programs write and remove files meanwhile. So what the system says before and after a scrape must be the same.
	awaitMeasured := func() (free float64) {
		wait.Until(t, func() bool {
			before, size := diskOf(t, folder)
			var all float64
			free, all = measure()
			after, _ := diskOf(t, folder)
			return before == after && free == before && all == size
		}, "the disk is not measured")
		return free
	}
	before := awaitMeasured()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "1.blk"), bytes.Repeat([]byte("x"), 64<<20), 0o600))
	require.NotEqual(t, before, awaitMeasured())
}

func diskOf(t *testing.T, folder string) (free, size float64) {
	t.Helper()
	var disk syscall.Statfs_t
	require.NoError(t, syscall.Statfs(folder, &disk))
	return float64(disk.Bavail) * float64(disk.Bsize), float64(disk.Blocks) * float64(disk.Bsize)
}
