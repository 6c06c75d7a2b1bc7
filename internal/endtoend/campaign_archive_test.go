package endtoend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// startIngest starts ingest with an archive that follows closely, so that faults meet its work.
func (c *campaign) startIngest(t *testing.T) {
	t.Helper()
	c.world.startIngest(t, "ARCHIVE_INTERVAL=100ms")
}

// archiveFaults are faults between ingest and the store of its archive, and at its segments.
func (c *campaign) archiveFaults() []fault {
	return []fault{
		{"the archive is away", func(t *testing.T) {
			folder := filepath.Join(c.dir, "archive")
			wait.Until(t, func() bool { return c.randomSegment(t) != "" }, "there is an archive")
			require.NoError(t, os.Rename(folder, folder+".away"))
			wait.Until(t, func() bool { // a file in its place, so that no other archive is begun there
				return os.RemoveAll(folder) == nil && os.WriteFile(folder, nil, 0o600) == nil
			})
			c.pause()
			require.NoError(t, os.Remove(folder))
			require.NoError(t, os.Rename(folder+".away", folder))
		}},
		{"a segment of the archive is damaged", func(t *testing.T) {
			if path := c.randomSegment(t); path != "" {
				c.flipBit(t, path)
			}
			c.heal(t)
		}},
		{"a segment of the archive is removed", func(t *testing.T) {
			// Not the newest one: without it the archive looks as if it had never been written.
			if paths := c.segments(t); len(paths) > 1 {
				_ = os.Remove(paths[c.random.IntN(len(paths)-1)]) // it may have been merged
			}
			c.heal(t)
		}},
		{"ingest is killed after the archive was damaged", func(t *testing.T) {
			if path := c.randomSegment(t); path != "" {
				_ = os.Truncate(path, 100) // it may have been merged
			}
			c.ingest.Kill()
			c.startIngest(t)
			c.heal(t)
		}},
		{"a drill restores the archive", func(t *testing.T) {
			wait.Until(t, func() bool { return c.randomSegment(t) != "" }, "there is an archive")
			drill := testenv.Start(t, "ingest", c.env(), "restore", "--from", filepath.Join(c.dir, "archive"), "--check")
			require.Zero(t, drill.Exit(t), drill.Output())
		}},
	}
}

// flipBit changes one byte of a segment, unless it was merged meanwhile.
func (c *campaign) flipBit(t *testing.T, path string) {
	t.Helper()
	_ = os.Chmod(path, 0o600)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	at, one := c.random.Int64N(info.Size()), make([]byte, 1)
	_, err = file.ReadAt(one, at)
	require.NoError(t, err)
	one[0] ^= 1
	_, err = file.WriteAt(one, at)
	require.NoError(t, err)
}

// segments returns the paths of all segments, in order.
func (c *campaign) segments(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.dir, "archive", "*", "*.seg"))
	require.NoError(t, err)
	return paths
}

// randomSegment returns the path of a segment; empty if there is none.
func (c *campaign) randomSegment(t *testing.T) string {
	t.Helper()
	paths := c.segments(t)
	if len(paths) == 0 {
		return ""
	}
	return paths[c.random.IntN(len(paths))]
}

func (c *campaign) heal(t *testing.T) {
	t.Helper()
	heal := testenv.Start(t, "ingest", c.env(), "archive", "--heal")
	require.Zero(t, heal.Exit(t), heal.Output())
}
