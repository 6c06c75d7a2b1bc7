package archive_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// mergedBadly returns a log of nine messages, and an archive of eight: each in a segment of its own, and all
// in a merged one, which is damaged in its first frame. Not all of them are in that frame.
func mergedBadly(t *testing.T) *world {
	t.Helper()
	w := setup(t)
	archiver := w.archiver(damagingMerges{w.place(t), t, w.path})
	for i := 1; i <= 8; i++ {
		w.fill(t, i, i)
		require.NoError(t, archiver.Step(t.Context()))
	}
	require.Len(t, w.files(t), 9)
	w.fill(t, 9, 9)
	return w
}

// requireRead compares what is read of an archive with the log.
func (w *world) requireRead(t *testing.T, first, last uint64) {
	t.Helper()
	require.Equal(t, records(t, w.ReadRecords, first, last), records(t, w.open(t, w.place(t)).Read, first, last))
}

func TestASegmentThatWasReplacedIsNotDamaged(t *testing.T) {
	t.Parallel()
	w, opened, _ := replacedSegment(t)
	require.Equal(t, records(t, w.ReadRecords, 1, 2), records(t, opened.Read, 1, 2))
	require.EqualValues(t, 3, opened.Last())
}

func TestASegmentThatWasReplacedLeavesNoGap(t *testing.T) {
	t.Parallel()
	w, opened, archiveNext := replacedSegment(t)
	w.fill(t, 4, 4)
	archiveNext(4)
	require.NoError(t, opened.Refresh(t.Context()))
	require.Empty(t, opened.Faults())
	require.EqualValues(t, 4, opened.Last())
}

// replacedSegment returns an archive of seq 1 and 2, as it was opened before the segment of seq 2 was replaced by one of
// seq 2 and 3. A merge makes the names of its parts free, and a second archiver may use such a name for more messages.
// archiveNext lets that archiver add the messages from first on.
func replacedSegment(t *testing.T) (w *world, opened *archive.Archive, archiveNext func(first uint64)) {
	t.Helper()
	w = setup(t)
	elsewhere, err := storage.Settings{URL: t.TempDir()}.Place()
	require.NoError(t, err)
	one, other := w.archiver(w.place(t)), w.archiver(elsewhere)
	archiveNext = func(first uint64) {
		t.Helper()
		require.NoError(t, other.Step(t.Context()))
		name := filepath.Join(w.id(t), segment.PartName(first))
		require.NoError(t, os.RemoveAll(filepath.Join(w.path, name)))
		require.NoError(t, os.Link(filepath.Join(elsewhere.String(), name), filepath.Join(w.path, name)))
	}
	w.fill(t, 1, 1)
	require.NoError(t, errors.Join(one.Step(t.Context()), other.Step(t.Context())))
	w.fill(t, 2, 2)
	require.NoError(t, one.Step(t.Context()))
	opened = w.open(t, w.place(t))
	w.fill(t, 3, 3)
	archiveNext(2)
	return w, opened, archiveNext
}

func TestWhatIsDamagedInAMergedSegmentIsReadFromItsParts(t *testing.T) {
	t.Parallel()
	whole := mergedBadly(t)
	t.Run("of a frame", func(t *testing.T) {
		t.Parallel()
		w, paths := whole.copyArchive(t)
		for first := range uint64(8) {
			w.requireRead(t, first+1, 8)
		}
		require.NoError(t, os.Remove(paths[8])) // the other frames are whole
		w.requireRead(t, 1, 8)
	})
	for _, how := range []string{"its header", "its footer"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, paths := whole.copyArchive(t)
			breakSegment(t, how, paths[0])
			w.requireRead(t, 1, 8)
			opened := w.open(t, w.place(t))
			require.Len(t, opened.Faults(), 1)
			require.Empty(t, opened.Lacks())
			require.NoError(t, os.Remove(paths[8]))
			opened = w.open(t, w.place(t))
			require.Equal(t, opened.Faults(), opened.Lacks())
		})
	}
	t.Run("a part is damaged, too", func(t *testing.T) {
		t.Parallel()
		w, paths := whole.copyArchive(t)
		breakSegment(t, "a frame", paths[2])
		read := uint64(0)
		err := w.open(t, w.place(t)).Read(t.Context(), 1, 8, func(r archive.Record) error {
			read = r.Seq
			return nil
		})
		damaged := new(archive.DamagedError)
		require.ErrorAs(t, err, &damaged)
		require.Equal(t, filepath.Base(paths[0]), damaged.Segment)
		require.EqualValues(t, 1, read)
	})
	t.Run("who is given the messages fails", func(t *testing.T) {
		t.Parallel()
		w, _ := whole.copyArchive(t)
		calls, failure := 0, &archive.DamagedError{Segment: "elsewhere"}
		err := w.open(t, w.place(t)).Read(t.Context(), 1, 8, func(archive.Record) error {
			calls++
			return failure
		})
		require.ErrorIs(t, err, failure)
		require.Equal(t, 1, calls)
	})
	t.Run("a part of another log is not read", func(t *testing.T) {
		t.Parallel()
		w, paths := whole.copyArchive(t)
		other := setupArchived(t, 1)
		content, err := os.ReadFile(other.files(t)[0])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(paths[1], content, 0o600))
		require.ErrorAs(t, w.open(t, w.place(t)).Read(t.Context(), 1, 8, func(archive.Record) error { return nil }), new(*archive.DamagedError))
	})
}

func TestADamagedMergedSegmentIsHealedFromItsParts(t *testing.T) {
	t.Parallel()
	whole := mergedBadly(t)
	trimmed := from{whole.Log, 9}
	t.Run("all are whole", func(t *testing.T) {
		t.Parallel()
		w, paths := whole.copyArchive(t)
		healed, left, err := w.heal(t.Context(), w.place(t), trimmed)
		require.NoError(t, err)
		require.Empty(t, left)
		require.Len(t, healed, 1)
		require.Contains(t, healed[0].Kept, filepath.Base(paths[0])+".replaced-1")
		require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
		w.requireWhole(t, w.place(t))
	})
	t.Run("those of whole frames are not there", func(t *testing.T) {
		t.Parallel()
		w, paths := whole.copyArchive(t)
		for _, path := range paths[5:] {
			require.NoError(t, os.Remove(path))
		}
		_, left, err := w.heal(t.Context(), w.place(t), trimmed)
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
		w.requireWhole(t, w.place(t))
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		for kills := 0; ; kills++ {
			w, _ := whole.copyArchive(t)
			_, _, err := w.heal(t.Context(), w.killedAfter(kills), trimmed)
			_, left, again := w.heal(t.Context(), w.place(t), trimmed)
			require.NoError(t, again, "killed before step %d", kills)
			require.Empty(t, left)
			require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
			w.requireWhole(t, w.place(t))
			if err == nil {
				require.Greater(t, kills, 5)
				return
			}
			require.ErrorIs(t, err, errKilled)
		}
	})
	t.Run("one is damaged, too", func(t *testing.T) {
		t.Parallel()
		w, paths := whole.copyArchive(t)
		breakSegment(t, "a frame", paths[2])
		healed, left, err := w.heal(t.Context(), w.place(t), trimmed)
		require.NoError(t, err)
		require.Empty(t, healed)
		require.Len(t, left, 1)
		require.Equal(t, paths, w.files(t))
	})
	t.Run("one has other messages", func(t *testing.T) {
		t.Parallel()
		w, paths := whole.copyArchive(t)
		forged := &world{Log: w.Log, path: filepath.Join(t.TempDir(), "archive")}
		require.NoError(t, forged.archiverOf(forged.place(t), otherBody(w.Log), 0).Step(t.Context()))
		content, err := os.ReadFile(forged.files(t)[0])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(paths[1], content, 0o600))
		_, _, err = w.heal(t.Context(), w.place(t), trimmed)
		require.ErrorAs(t, err, new(*archive.ContradictionError))
		require.Equal(t, paths, w.files(t))
	})
}

// An archiver that finds damage says it once and counts it, and goes on without merging.
func TestAnArchiverThatFindsAMergedSegmentDamagedCountsIt(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(t *testing.T, paths []string){
		"its parts are there": func(*testing.T, []string) {},
		"its parts are gone": func(t *testing.T, paths []string) {
			t.Helper()
			for _, path := range paths[1:] {
				require.NoError(t, os.Remove(path))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mergedBadly(t)
			paths := w.files(t)
			breaks(t, paths)
			w.out.Reset()
			archiver := w.archiver(w.place(t))
			stop := run(t, archiver)
			for i := 10; i < 40; i++ { // enough for merges
				w.fill(t, i, i)
				wait.Until(t, func() bool { return w.open(t, w.place(t)).Last() == uint64(i) })
			}
			wait.Until(t, func() bool { return archiver.State().Damaged == 1 })
			stop()
			require.Equal(t, 1, strings.Count(w.logged(), "damaged in frame 1"), w.logged())
			require.NotContains(t, w.logged(), "cannot be written now")
			require.FileExists(t, paths[0])
		})
	}
}

// damagingMerges damages what is merged, as a disk does: after it was written.
type damagingMerges struct {
	storage.Place
	t    *testing.T
	root string
}

func (d damagingMerges) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	err := d.Place.Create(ctx, name, write)
	if err == nil && strings.Contains(filepath.Base(name), "-") {
		damage(d.t, filepath.Join(d.root, name), 200)
	}
	return err
}
