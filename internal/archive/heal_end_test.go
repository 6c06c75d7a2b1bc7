package archive_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
)

func TestOneRunHealsAllThatIsDamagedAtTheEnd(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 80)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	paths := w.files(t)
	breakSegment(t, "a frame", paths[len(paths)-2])
	breakSegment(t, "its footer", paths[len(paths)-1])
	_, left, err := w.heal(t.Context(), w.place(t), w.Log)
	require.NoError(t, err)
	require.Empty(t, left)
	w.requireWhole(t, w.place(t))
}

// A log can be set back to a backup that ends within a segment. What is behind that is in the
// damaged segment only.
func TestADamagedSegmentThatReachesBeyondTheLogStays(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.fill(t, 1, 85)
	require.NoError(t, whole.archiver(whole.place(t)).Step(t.Context()))
	segments := whole.open(t, whole.place(t)).Segments()
	newest := segments[len(segments)-1]
	require.Greater(t, newest.Last, newest.First+2)
	for name, breaks := range map[string]func(t *testing.T, paths []string){
		"its footer": func(t *testing.T, paths []string) { t.Helper(); breakSegment(t, "its footer", paths[len(paths)-1]) },
		"its header": func(t *testing.T, paths []string) { t.Helper(); breakSegment(t, "its header", paths[len(paths)-1]) },
		"the footers of two": func(t *testing.T, paths []string) {
			t.Helper()
			breakSegment(t, "its footer", paths[len(paths)-2])
			breakSegment(t, "its footer", paths[len(paths)-1])
		},
		"its footer, and a frame of the one before": func(t *testing.T, paths []string) {
			t.Helper()
			breakSegment(t, "a frame", paths[len(paths)-2])
			breakSegment(t, "its footer", paths[len(paths)-1])
		},
	} {
		for _, end := range []uint64{newest.First - 3, newest.First, newest.Last - 1} {
			t.Run(fmt.Sprint(name, " in a log up to ", end), func(t *testing.T) {
				t.Parallel()
				w, paths := whole.copyArchive(t)
				breaks(t, paths)
				last := new(atomic.Uint64)
				last.Store(end)
				for range 2 {
					healed, left, err := w.heal(t.Context(), w.place(t), upTo{w.Log, last})
					require.NoError(t, err)
					require.Empty(t, healed)
					require.Len(t, left, 1)
					require.Contains(t, left[0], fmt.Sprint("to ", newest.Last))
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
}

// A copy of the archive can bring back a shorter segment, with the same beginning as the damaged one.
func TestADamagedSegmentThatReachesBeyondTheOthersStays(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 4)
	last := new(atomic.Uint64)
	last.Store(2)
	require.NoError(t, w.archiverOf(w.place(t), upTo{w.Log, last}, 0).Step(t.Context()))
	short, err := os.ReadFile(w.files(t)[0])
	require.NoError(t, err)
	require.NoError(t, os.Remove(w.files(t)[0]))
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	damaged := w.files(t)[0]
	breakSegment(t, "its footer", damaged)
	require.NoError(t, os.WriteFile(strings.TrimSuffix(damaged, ".seg")+"-00000000000000000002.seg", short, 0o600))
	_, left, err := w.heal(t.Context(), w.place(t), upTo{w.Log, last})
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Contains(t, left[0], "reaches to seq 4")
	require.FileExists(t, damaged)

	require.NoError(t, w.archiver(w.place(t)).Step(t.Context())) // the log has the rest after all
	_, left, err = w.heal(t.Context(), w.place(t), w.Log)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoFileExists(t, damaged)
	w.requireWhole(t, w.place(t))
}

// A log that was lost and begun again with other messages must not replace what the archive still
// has of the right ones. Without a footer, what can be read of the segment, or else the end of the
// one before, shows that the log is another one.
func TestAnotherLogReplacesNothingAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, events := range []int{5, 80} {
		whole := setup(t)
		whole.fill(t, 1, events)
		require.NoError(t, whole.archiver(whole.place(t)).Step(t.Context()))
		for how := range damages {
			if how == "it is not there" || events == 5 && (how == "all of it" || how == "it and the one after") {
				continue // nothing of it is left
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

func TestADamagedSegmentThatMayHoldMoreStaysBesideWhatReplacesIt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 80)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	paths := w.files(t)
	newest := paths[len(paths)-1]
	content, err := os.ReadFile(newest)
	require.NoError(t, err)
	for i := len(content) / 2; i < len(content); i++ {
		content[i] ^= 0x55
	}
	require.NoError(t, os.WriteFile(newest, content, 0o600))
	for try := range 2 {
		healed, left, err := w.heal(t.Context(), w.place(t), w.Log)
		require.NoError(t, err)
		require.Len(t, healed, 1-try)
		require.Len(t, left, 1)
		require.Contains(t, left[0], filepath.Base(newest))
		require.FileExists(t, newest)
		w.requireWhole(t, w.place(t))
	}
}

// An archiver that was frozen can have written a segment within the range of another one.
func TestADamagedSegmentThatReachesBeyondTheNextOneStays(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"its footer", "a frame"} {
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
		breakSegment(t, how, paths[1])
		last.Store(8)
		_, left, err := w.heal(t.Context(), w.place(t), upTo{w.Log, last})
		require.NoError(t, err)
		require.Len(t, left, 1, how)
		require.Regexp(t, "to (seq )?9", left[0])
		require.FileExists(t, paths[1])
	}
}
