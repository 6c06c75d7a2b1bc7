//go:build powercut

package powercut_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/check"
	"github.com/payfold/payfold/internal/durable"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/restore"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/archiver"
	"github.com/payfold/payfold/internal/testenv/powercut"
)

// on mounts a disk at dir while work is done.
func on(t *testing.T, disk *powercut.Disk, dir string, work func()) {
	t.Helper()
	unmount, err := disk.Mount(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, unmount()) }()
	work()
}

// The power is cut before each change of the disk in turn.
func TestAReplacedFileIsOldOrNewAfterAPowerCut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for changes := int64(1); ; changes++ {
		disk := powercut.New()
		var failed error
		on(t, disk, dir, func() {
			require.NoError(t, durable.Replace(path, "old"))
			disk.CutAfter(changes)
			failed = durable.Replace(path, "new")
		})
		for seed := range uint64(20) { // what is left of the changes without an fsync
			on(t, disk.Survivor(rand.New(rand.NewPCG(seed, 0))), dir, func() {
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

// nats-server opens files with O_SYNC. It makes folders without an fsync of the folder above.
func TestAWriteWithSyncSurvivesAPowerCut(t *testing.T) {
	dir := t.TempDir()
	for name, journal := range map[string]bool{"and an fsync of all folders": false, "on a disk with a journal": true} {
		t.Run(name, func(t *testing.T) {
			disk, path := powercut.New(), filepath.Join(dir, "folder", "file")
			if journal {
				disk.Journal()
			}
			on(t, disk, dir, func() {
				require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
				file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_SYNC, 0o600)
				require.NoError(t, err)
				_, err = file.WriteString("text")
				require.NoError(t, errors.Join(err, file.Close()))
				if !journal {
					require.NoError(t, errors.Join(durable.Sync(filepath.Dir(path)), durable.Sync(dir)))
				}
			})
			for seed := range uint64(20) { // what is left of the changes without an fsync
				on(t, disk.Survivor(rand.New(rand.NewPCG(seed, 0))), dir, func() {
					content, err := os.ReadFile(path)
					require.NoError(t, err)
					require.Equal(t, "text", string(content))
				})
			}
		})
	}
}

// A supervisor starts ingest again and again while the disk is full. Each start sets aside the torn end of the log.
func TestAFileThatDoesNotFitLeavesNothing(t *testing.T) {
	dir, disk := t.TempDir(), powercut.New()
	on(t, disk, dir, func() {
		disk.Limit(3)
		require.ErrorIs(t, durable.Create(filepath.Join(dir, "file"), "text", 0o600), syscall.ENOSPC)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestAnObjectInNewFoldersSurvivesAPowerCut(t *testing.T) {
	dir, disk := t.TempDir(), powercut.New()
	place := &storage.Folder{Root: filepath.Join(dir, "srv", "payfold", "archive")}
	on(t, disk, dir, func() {
		require.NoError(t, place.Create(t.Context(), "log/object", func(to io.Writer) error {
			_, err := io.WriteString(to, "text")
			return err
		}))
	})
	on(t, disk.Survivor(rand.New(rand.NewPCG(1, 0))), dir, func() {
		content, err := os.ReadFile(filepath.Join(place.Root, "log", "object"))
		require.NoError(t, err)
		require.Equal(t, "text", string(content))
	})
}

// A process that was killed, or an operator, has just made the folders. Before messages are removed from
// the log, their segments must be there after a power cut.
func TestAnObjectThatWasMadeDurableSurvivesInFoldersThatWereNot(t *testing.T) {
	dir := t.TempDir()
	place := &storage.Folder{Root: filepath.Join(dir, "srv", "payfold", "archive")}
	for seed := range uint64(20) { // what is left of the changes without an fsync
		disk := powercut.New()
		on(t, disk, dir, func() {
			require.NoError(t, os.MkdirAll(filepath.Join(place.Root, "log"), 0o700))
			require.NoError(t, place.Create(t.Context(), "log/object", func(to io.Writer) error {
				_, err := io.WriteString(to, "text")
				return err
			}))
			require.NoError(t, place.Sync(t.Context(), "log", "object"))
		})
		on(t, disk.Survivor(rand.New(rand.NewPCG(seed, 0))), dir, func() {
			content, err := os.ReadFile(filepath.Join(place.Root, "log", "object"))
			require.NoError(t, err)
			require.Equal(t, "text", string(content))
		})
	}
}

// Somebody has copied an object. Its first fsync fails, and the next one succeeds.
func TestAnObjectIsDurableAfterAnFsyncThatFailed(t *testing.T) {
	dir, disk := t.TempDir(), powercut.New()
	place := &storage.Folder{Root: filepath.Join(dir, "archive")}
	on(t, disk, dir, func() {
		require.NoError(t, os.MkdirAll(filepath.Join(place.Root, "log"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(place.Root, "log", "object"), []byte("text"), 0o600))
		disk.FailNextSync("object")
		require.ErrorIs(t, place.Sync(t.Context(), "log", "object"), syscall.EIO)
		require.NoError(t, place.Sync(t.Context(), "log", "object"))
	})
	on(t, disk.Survivor(rand.New(rand.NewPCG(1, 0))), dir, func() {
		content, err := os.ReadFile(filepath.Join(place.Root, "log", "object"))
		require.NoError(t, err)
		require.Equal(t, "text", string(content))
	})
}

func TestSalvagedEventsSurviveAPowerCut(t *testing.T) {
	log := testenv.NewLog(t, 4)
	log.Deliver(t, testenv.Customers(1).Event(0))
	log.Stop(t)
	dir, disk := t.TempDir(), powercut.New()
	on(t, disk, dir, func() {
		_, err := check.Files(t.Context(), check.Config{Stream: testenv.Stream, Salvage: filepath.Join(dir, "salvaged")}, log.Dir)
		require.NoError(t, err)
	})
	for seed := range uint64(20) { // what is left of the changes without an fsync
		on(t, disk.Survivor(rand.New(rand.NewPCG(seed, 0))), dir, func() {
			content, err := os.ReadFile(filepath.Join(dir, "salvaged"))
			require.NoError(t, err)
			require.Contains(t, string(content), `"seq":1`)
		})
	}
}

// An operator has moved the log to another disk, and has left a link to it.
func TestALogBehindALinkSurvivesAPowerCut(t *testing.T) {
	dir, disk := t.TempDir(), powercut.New()
	log := &testenv.Log{Dir: t.TempDir()}
	require.NoError(t, os.Symlink(filepath.Join(dir, "log"), filepath.Join(log.Dir, "log")))
	var left []*powercut.Disk
	on(t, disk, dir, func() {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "log"), 0o700))
		log.Start(t, 4)
		log.Deliver(t, testenv.Customers(1).Event(0))
		for seed := range uint64(20) { // what is left of the changes without an fsync
			left = append(left, disk.Survivor(rand.New(rand.NewPCG(seed, 0))))
		}
		log.Stop(t)
	})
	for _, disk := range left {
		on(t, disk, dir, func() {
			log.Start(t, 4)
			defer log.Stop(t)
			info, err := log.Info(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, info.Last)
		})
	}
}

// Once a restore has ended, the log stays whole and without its mark.
func TestARestoredLogSurvivesAPowerCut(t *testing.T) {
	lost := testenv.NewLog(t, 4)
	lost.Deliver(t, testenv.Customers(1).Event(0))
	place := &storage.Folder{Root: t.TempDir()}
	archiver.RunToEnd(t, archive.Config{Place: place, Source: lost.Log}, nil)
	dir, disk := t.TempDir(), powercut.New()
	log := &testenv.Log{Dir: t.TempDir()}
	require.NoError(t, os.Symlink(filepath.Join(dir, "log"), filepath.Join(log.Dir, "log")))
	on(t, disk, dir, func() {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "log"), 0o700))
		_, err := restore.Embedded(t.Context(), restore.Config{
			Place: place, Stream: eventlog.StreamConfig{Name: testenv.Stream, Replicas: 1, DuplicateWindow: time.Minute}, Progress: func(string, uint64, uint64) {},
		}, log.Dir, testenv.Logger(t))
		require.NoError(t, err)
	})
	for seed := range uint64(20) { // what is left of the changes without an fsync
		on(t, disk.Survivor(rand.New(rand.NewPCG(seed, 0))), dir, func() {
			log.Start(t, 4)
			defer log.Stop(t)
			info, err := log.Info(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, info.Last)
		})
	}
}
