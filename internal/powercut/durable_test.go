//go:build powercut

package powercut_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/durable"
	"github.com/payfold/payfold/internal/powercut"
)

// The power is cut before each change of the disk in turn.
func TestAReplacedFileIsOldOrNewAfterAPowerCut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	on := func(disk *powercut.Disk, work func()) {
		unmount, err := disk.Mount(dir)
		require.NoError(t, err)
		defer func() { require.NoError(t, unmount()) }()
		work()
	}
	for changes := int64(1); ; changes++ {
		disk := powercut.New()
		var failed error
		on(disk, func() {
			require.NoError(t, durable.Replace(path, "old"))
			disk.CutAfter(changes)
			failed = durable.Replace(path, "new")
		})
		for seed := range uint64(20) { // what is left of the changes without an fsync
			on(disk.Survivor(rand.New(rand.NewPCG(seed, 0))), func() {
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				if failed == nil {
					require.Equal(t, "new", string(content))
				} else {
					require.Contains(t, []string{"old", "new"}, string(content))
				}
				require.NoError(t, durable.Replace(path, "again"), "whatever is left over")
			})
		}
		if failed == nil {
			require.Greater(t, changes, int64(4))
			return
		}
	}
}
