package blockstore_test

import (
	"bytes"
	"os"
	"path/filepath"
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
	before, size := measure()
	require.Less(t, before, size)
	const written = 64 << 20
	wait.Until(t, func() bool { // other programs write and remove files, too, so each try measures before and after
		before, _ := measure()
		file, err := os.Create(filepath.Join(folder, "1.blk"))
		require.NoError(t, err)
		_, err = file.Write(bytes.Repeat([]byte("x"), written))
		require.NoError(t, err)
		require.NoError(t, file.Sync())
		require.NoError(t, file.Close())
		free, now := measure()
		require.NoError(t, os.Remove(file.Name()))
		return now == size && free < before-written/2
	}, "what was written is not free any more")
}
