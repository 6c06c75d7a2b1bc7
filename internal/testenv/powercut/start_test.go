//go:build powercut

package powercut_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/durable"
	"github.com/payfold/payfold/internal/eventlog/accounts"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/powercut"
)

// The power is cut before each change of the disk in turn, while a start repairs the log of a killed ingest. Its
// newest block has a torn end.
func TestAStartMayBeCutAtEachChange(t *testing.T) {
	const messages = 3
	log := testenv.NewLog(t, 4)
	for i := range messages {
		log.Deliver(t, testenv.Customers(1).Event(i))
	}
	killed := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.CopyFS(killed, os.DirFS(filepath.Join(log.Dir, "log"))))
	block, err := os.OpenFile(filepath.Join(killed, "jetstream", accounts.Writer, "streams", testenv.Stream, "msgs", "1.blk"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = block.WriteString("a part of a message")
	require.NoError(t, errors.Join(err, block.Close()))

	dir := t.TempDir()
	start := func() (last uint64, err error) {
		syncer, err := blockstore.New(filepath.Join(dir, "log"), accounts.Writer, testenv.Stream).Recover(t.Context(), nil)
		if err != nil {
			return 0, err
		}
		return syncer.Recovered.Last, syncer.Close(false)
	}
	for changes := int64(1); ; changes++ {
		disk := powercut.New()
		var failed error
		on(t, disk, dir, func() {
			require.NoError(t, os.CopyFS(filepath.Join(dir, "log"), os.DirFS(killed)))
			require.NoError(t, blockstore.New(filepath.Join(dir, "log"), accounts.Writer, testenv.Stream).SyncAll())
			require.NoError(t, durable.SyncPath(filepath.Join(dir, "log")))
			disk.CutAfter(changes)
			_, failed = start()
		})
		for seed := range uint64(4) { // what is left of the changes without an fsync
			on(t, disk.Survivor(rand.New(rand.NewPCG(seed, 0))), dir, func() {
				last, err := start()
				require.NoError(t, err, "cut at change %d", changes)
				require.EqualValues(t, messages, last)
			})
		}
		if failed == nil {
			require.Greater(t, changes, int64(20))
			return
		}
	}
}
