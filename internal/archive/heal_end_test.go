package archive_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
)

func TestOneRunHealsAllThatIsDamagedAtTheEnd(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 80)
	paths := w.files(t)
	breakSegment(t, "a frame", paths[len(paths)-2])
	breakSegment(t, "its footer", paths[len(paths)-1])
	_, left, err := w.heal(t.Context(), w.place(t), w.Log)
	require.NoError(t, err)
	require.Empty(t, left)
	w.requireWhole(t, w.place(t))
}

// A log can be set back to a backup that ends before the newest segment.
func TestADamagedSegmentBehindTheLogStays(t *testing.T) {
	t.Parallel()
	whole := setupArchived(t, 85)
	segments := whole.open(t, whole.place(t)).Segments()
	newest := segments[len(segments)-1]
	for name, breaks := range map[string]func(t *testing.T, paths []string){
		"its footer": func(t *testing.T, paths []string) { t.Helper(); breakSegment(t, "its footer", paths[len(paths)-1]) },
		"its header": func(t *testing.T, paths []string) { t.Helper(); breakSegment(t, "its header", paths[len(paths)-1]) },
		"its footer, and a frame of the one before": func(t *testing.T, paths []string) {
			t.Helper()
			breakSegment(t, "a frame", paths[len(paths)-2])
			breakSegment(t, "its footer", paths[len(paths)-1])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, paths := whole.copyArchive(t)
			breaks(t, paths)
			last := new(atomic.Uint64)
			last.Store(newest.First - 3)
			for range 2 {
				healed, left, err := w.heal(t.Context(), w.place(t), upTo{w.Log, last})
				require.NoError(t, err)
				require.Empty(t, healed)
				require.Len(t, left, 1)
				require.Contains(t, left[0], fmt.Sprint("to ", newest.First))
				require.Equal(t, paths, w.files(t))
			}
			require.Error(t, w.archiverOf(w.place(t), upTo{w.Log, last}, 0).Step(t.Context()))
			require.Equal(t, paths, w.files(t))
			_, left, err := w.heal(t.Context(), w.place(t), w.Log) // the log is whole again
			require.NoError(t, err)
			require.Empty(t, left)
			w.requireWhole(t, w.place(t))
		})
	}
}

// Nobody knows how far the newest segment reached if its footer is damaged. It can be the only one that holds messages
// that a log has lost which was set back.
func TestWhatIsReplacedIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	whole := setupArchived(t, 85)
	segments := whole.open(t, whole.place(t)).Segments()
	newest := segments[len(segments)-1]
	require.Greater(t, newest.Last, newest.First+2)
	for how := range damages {
		for _, end := range []uint64{newest.First, newest.Last - 1, newest.Last} {
			if how == "it is not there" || how == "a frame" && end < newest.Last {
				continue // nothing to keep; a whole footer says that it reaches beyond the log
			}
			t.Run(fmt.Sprint(how, " in a log up to ", end), func(t *testing.T) {
				t.Parallel()
				w, paths := whole.copyArchive(t)
				damaged := paths[len(paths)-1]
				last := new(atomic.Uint64)
				last.Store(end)
				for n := range 3 { // what replaces it is damaged, too
					breakSegment(t, how, damaged)
					content, err := os.ReadFile(damaged)
					require.NoError(t, err)
					healed, left, err := w.heal(t.Context(), w.place(t), upTo{w.Log, last})
					require.NoError(t, err)
					require.Empty(t, left)
					require.Len(t, healed, 1)
					require.Len(t, healed[0].Kept, 1, n)
					kept, err := os.ReadFile(filepath.Join(filepath.Dir(damaged), healed[0].Kept[0]))
					require.NoError(t, err)
					require.Equal(t, content, kept)
					require.NoFileExists(t, damaged)
					opened := w.open(t, w.place(t))
					require.Empty(t, opened.Faults())
					require.Equal(t, end, opened.Last())
					damaged = w.files(t)[len(w.files(t))-1]
				}
				require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
				w.requireWhole(t, w.place(t))
			})
		}
	}
}

// A log that was lost and begun again with other messages must not replace what the archive still
// has of the right ones. Without a footer, the end of the segment before shows that the log is another one.
func TestAnotherLogReplacesNothingAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, events := range []int{5, 80} {
		whole := setupArchived(t, events)
		for how := range damages {
			if how == "it is not there" || events == 5 && how != "a frame" {
				continue // nothing can be compared
			}
			t.Run(fmt.Sprint(how, " of ", events), func(t *testing.T) {
				t.Parallel()
				w, paths := whole.copyArchive(t)
				breakSegment(t, how, paths[len(paths)-1])
				_, _, err := w.heal(t.Context(), w.place(t), otherBody(w.Log))
				require.ErrorAs(t, err, new(*archive.ContradictionError))
				require.Equal(t, paths, w.files(t))
			})
		}
	}
}

// An archiver that was frozen can have written a segment within the range of another one.
func TestADamagedSegmentThatReachesBeyondTheNextOneStays(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 9)
	last := new(atomic.Uint64)
	for _, end := range []uint64{2, 4, 6} {
		last.Store(end)
		require.NoError(t, w.archiverOf(w.place(t), upTo{w.Log, last}, 0).Step(t.Context()))
	}
	paths := w.files(t)
	require.Len(t, paths, 3)
	next, err := os.ReadFile(paths[2])
	require.NoError(t, errors.Join(err, os.Remove(paths[1]), os.Remove(paths[2])))
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	require.NoError(t, os.WriteFile(paths[2], next, 0o600))
	require.EqualValues(t, 9, w.open(t, w.place(t)).Last())
	breakSegment(t, "a frame", paths[1])
	last.Store(8)
	_, left, err := w.heal(t.Context(), w.place(t), upTo{w.Log, last})
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Contains(t, left[0], "to 9")
	require.FileExists(t, paths[1])
}
