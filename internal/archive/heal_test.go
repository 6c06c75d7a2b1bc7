package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
)

func (w *world) heal(ctx context.Context, place storage.Place, source archive.Source) ([]archive.Healed, []string, error) {
	result, err := archive.Heal(ctx, archive.Config{
		Place: place, Source: source, Logger: slog.New(slog.NewTextHandler(w, nil)), SegmentBytes: 8 << 10, FrameBytes: 1 << 10,
	})
	return result.Healed, result.Left, err
}

// damages are ways in which one segment, or all from it on, can be damaged.
var damages = map[string]func(path string, content []byte) error{
	"a frame":    func(path string, content []byte) error { content[200] ^= 1; return os.WriteFile(path, content, 0o600) },
	"its header": func(path string, content []byte) error { content[9] ^= 1; return os.WriteFile(path, content, 0o600) },
	"its footer": func(path string, content []byte) error {
		content[len(content)-1] ^= 1
		return os.WriteFile(path, content, 0o600)
	},
	"its end":              func(path string, content []byte) error { return os.WriteFile(path, content[:len(content)/2], 0o600) },
	"all of it":            func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
	"it is not there":      func(path string, _ []byte) error { return os.Remove(path) },
	"it and the one after": func(path string, content []byte) error { return os.WriteFile(path, content[:100], 0o600) },
}

// copyArchive returns a world with a copy of the archive, and the copy's segments.
func (w *world) copyArchive(t *testing.T) (*world, []string) {
	t.Helper()
	copied := &world{source: w.source, path: filepath.Join(t.TempDir(), "archive")}
	require.NoError(t, os.CopyFS(copied.path, os.DirFS(w.path)))
	return copied, copied.files(t)
}

func breakSegment(t *testing.T, how, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, errors.Join(os.Chmod(path, 0o600), damages[how](path, content)))
}

// Whichever segment is damaged, and however, it is made again from the log, and the archive goes on.
func TestADamagedArchiveIsHealedFromTheLog(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 80)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	count := len(w.files(t))
	require.Greater(t, count, 3)
	for how := range damages {
		for at := range count {
			t.Run(fmt.Sprint(how, " of segment ", at), func(t *testing.T) {
				t.Parallel()
				w, paths := w.copyArchive(t)
				breakSegment(t, how, paths[at])
				if how == "it and the one after" && at+1 < count {
					breakSegment(t, how, paths[at+1])
				}
				healed, left, err := w.heal(t.Context(), w.place(t), w.source)
				require.NoError(t, err)
				require.Empty(t, left)
				if how == "it is not there" && at == count-1 {
					require.Empty(t, healed, "it looks as if it was never written; an archiver writes it")
				} else {
					require.Len(t, healed, 1)
				}
				require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
				w.requireWhole(t, w.place(t))
				healed, left, err = w.heal(t.Context(), w.place(t), w.source)
				require.NoError(t, err)
				require.Empty(t, left)
				require.Empty(t, healed, "nothing is left to heal")
			})
		}
	}
}

func TestAHealThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.fill(t, 1, 80)
	require.NoError(t, whole.archiver(whole.place(t)).Step(t.Context()))
	for kills := 0; ; kills++ {
		w, paths := whole.copyArchive(t)
		breakSegment(t, "a frame", paths[1])
		breakSegment(t, "its footer", paths[2])
		steps := 0
		_, _, err := w.heal(t.Context(), &storage.Folder{Root: w.path, Step: func(string) error {
			if steps++; steps > kills {
				return errKilled
			}
			return nil
		}}, w.source)
		_, left, again := w.heal(t.Context(), w.place(t), w.source)
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
}

// A segment that was healed before can be damaged, too: its name is taken.
func TestAHealedSegmentIsHealedAgain(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.fill(t, 1, 80)
	require.NoError(t, whole.archiver(whole.place(t)).Step(t.Context()))
	for how := range damages {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, _ := whole.copyArchive(t)
			for at := range 6 { // several of the first half are then parts of one that was healed
				breakSegment(t, how, w.files(t)[1+at%2])
				_, left, err := w.heal(t.Context(), w.place(t), w.source)
				require.NoError(t, err)
				require.Empty(t, left)
				w.requireWhole(t, w.place(t))
			}
		})
	}
}

// A damaged segment can reach beyond what has to be made again.
func TestADamagedSegmentIsRemovedWhereSeveralHoldWhatItHeld(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 80)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	segments, paths := w.open(t, w.place(t)).Segments(), w.files(t)
	damaged := filepath.Join(filepath.Dir(paths[0]), fmt.Sprintf("%020d-%020d.seg", segments[1].First, segments[2].Last))
	require.NoError(t, errors.Join(os.WriteFile(damaged, make([]byte, 100), 0o600), os.Remove(paths[1])))
	healed, left, err := w.heal(t.Context(), w.place(t), w.source)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, healed, 2)
	require.NoFileExists(t, damaged)
	w.requireWhole(t, w.place(t))
}

// A segment of one message cannot be divided, so that it would get a free name.
func TestASegmentOfOneMessageIsHealedAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 1)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	for range 4 {
		breakSegment(t, "a frame", w.files(t)[0])
		_, left, err := w.heal(t.Context(), w.place(t), w.source)
		require.NoError(t, err)
		require.Empty(t, left)
		w.requireWhole(t, w.place(t))
	}
}

func TestAnotherLogHealsNothing(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.fill(t, 1, 80)
	require.NoError(t, whole.archiver(whole.place(t)).Step(t.Context()))
	w, paths := whole.copyArchive(t)
	breakSegment(t, "a frame", paths[1])
	content, err := os.ReadFile(paths[1])
	require.NoError(t, err)
	_, _, err = w.heal(t.Context(), w.place(t), otherBody{w.source})
	require.ErrorAs(t, err, new(*archive.ContradictionError))
	require.Equal(t, paths, w.files(t))
	same, err := os.ReadFile(paths[1])
	require.NoError(t, err)
	require.Equal(t, content, same)
}

// from lets an archiver see the log only from a sequence on.
type from struct {
	source
	first uint64
}

func (f from) Head(ctx context.Context) (archive.Head, error) {
	head, err := f.source.Head(ctx)
	head.First = f.first
	return head, err
}

func TestWhatTheLogNoLongerHasIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.fill(t, 1, 80)
	require.NoError(t, whole.archiver(whole.place(t)).Step(t.Context()))
	w, paths := whole.copyArchive(t)
	breakSegment(t, "a frame", paths[0])
	breakSegment(t, "a frame", paths[len(paths)-1])
	healed, left, err := w.heal(t.Context(), w.place(t), from{w.source, 60})
	require.NoError(t, err)
	require.Len(t, healed, 1)
	require.Len(t, left, 1)
	require.FileExists(t, paths[0])
	require.NoFileExists(t, paths[len(paths)-1])
}

func TestHealRemovesNothingThatAnArchiverWritesMeanwhile(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 9)
	archiver := w.archiver(w.place(t))
	require.NoError(t, archiver.Step(t.Context()))
	w.fill(t, 10, 15)
	var once sync.Once
	_, left, err := w.heal(t.Context(), &duringReads{Place: w.place(t), happens: func(string) {
		once.Do(func() {
			w.fill(t, 16, 20)
			require.NoError(t, archiver.Step(t.Context()))
		})
	}}, w.source)
	require.NoError(t, err)
	require.Empty(t, left)
	w.fill(t, 21, 22)
	require.NoError(t, archiver.Step(t.Context()))
	w.requireWhole(t, w.place(t))
}

func TestOneRunHealsAllThatIsDamagedAtTheEnd(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 80)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	paths := w.files(t)
	breakSegment(t, "a frame", paths[len(paths)-2])
	breakSegment(t, "its footer", paths[len(paths)-1])
	_, left, err := w.heal(t.Context(), w.place(t), w.source)
	require.NoError(t, err)
	require.Empty(t, left)
	w.requireWhole(t, w.place(t))
}

// A log that was lost and begun again with other messages must not replace what the archive still
// has of the right ones.
func TestAnotherLogReplacesNothingAtTheEnd(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 80)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	paths := w.files(t)
	breakSegment(t, "a frame", paths[len(paths)-1])
	_, _, err := w.heal(t.Context(), w.place(t), otherBody{w.source})
	require.ErrorAs(t, err, new(*archive.ContradictionError))
	require.Equal(t, paths, w.files(t))
}

// To read an archive takes longer than an archiver waits until it merges what is not read yet.
func TestACheckAndAHealEndAlthoughSegmentsAreMergedMeanwhile(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 80)
	archiver := w.archiver(w.place(t))
	require.NoError(t, archiver.Step(t.Context()))
	events := 80
	step := func() (merged bool) {
		before := len(w.files(t))
		events++
		w.fill(t, events, events)
		require.NoError(t, archiver.Step(t.Context()))
		return len(w.files(t)) < before
	}
	opened := 0
	busy := &duringReads{Place: w.place(t), happens: func(name string) {
		if !strings.HasSuffix(name, "/00000000000000000001.seg") {
			return
		}
		for !step() { // merges what was listed
		}
		if opened++; opened%2 == 1 { // its header and footer are read: something can be listed that is merged next
			for range 3 {
				step()
			}
		}
	}}
	checked, err := archive.CheckAgainst(t.Context(), busy, w.id(t), w.source, true)
	require.NoError(t, err)
	require.Empty(t, checked.Faults)
	healed, left, err := w.heal(t.Context(), busy, w.source)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, healed)
	require.NoError(t, archiver.Step(t.Context()))
	w.requireWhole(t, w.place(t))
}

// duringReads is a Place in which something happens before each segment is opened.
type duringReads struct {
	storage.Place
	happens func(name string)
	mu      sync.Mutex // several segments are opened at once
}

func (d *duringReads) Open(ctx context.Context, name string) (storage.Object, error) {
	d.mu.Lock()
	d.happens(name)
	d.mu.Unlock()
	return d.Place.Open(ctx, name)
}

// A log can be set back to a backup that ends within a segment. What is behind that is in the
// damaged segment only.
func TestADamagedSegmentThatReachesBeyondTheLogStays(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.fill(t, 1, 80)
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
					healed, left, err := w.heal(t.Context(), w.place(t), upTo{w.source, last})
					require.NoError(t, err)
					require.Empty(t, healed)
					require.Len(t, left, 1)
					require.Contains(t, left[0], fmt.Sprint("to ", newest.Last))
					require.Equal(t, paths, w.files(t))
				}
				require.Error(t, w.archiverOf(w.place(t), upTo{w.source, last}, 0).Step(t.Context()))
				require.Equal(t, paths, w.files(t))
				_, left, err := w.heal(t.Context(), w.place(t), w.source) // the log is whole again
				require.NoError(t, err)
				require.Empty(t, left)
				w.requireWhole(t, w.place(t))
			})
		}
	}
}

// An earlier build could make a part of a segment again and leave the damaged one.
func TestADamagedSegmentThatReachesBeyondTheOthersStays(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 4)
	last := new(atomic.Uint64)
	last.Store(2)
	require.NoError(t, w.archiverOf(w.place(t), upTo{w.source, last}, 0).Step(t.Context()))
	short, err := os.ReadFile(w.files(t)[0])
	require.NoError(t, err)
	require.NoError(t, os.Remove(w.files(t)[0]))
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	damaged := w.files(t)[0]
	breakSegment(t, "its footer", damaged)
	require.NoError(t, os.WriteFile(strings.TrimSuffix(damaged, ".seg")+"-00000000000000000002.seg", short, 0o600))
	_, left, err := w.heal(t.Context(), w.place(t), upTo{w.source, last})
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Contains(t, left[0], "reaches to seq 4")
	require.FileExists(t, damaged)

	require.NoError(t, w.archiver(w.place(t)).Step(t.Context())) // the log has the rest after all
	_, left, err = w.heal(t.Context(), w.place(t), w.source)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoFileExists(t, damaged)
	w.requireWhole(t, w.place(t))
}

// Without a footer, what can be read of the segment, or else the end of the one before, shows that
// the log is another one.
func TestAnotherLogReplacesNoSegmentWithoutAFooter(t *testing.T) {
	t.Parallel()
	for _, events := range []int{5, 80} {
		whole := setup(t)
		whole.fill(t, 1, events)
		require.NoError(t, whole.archiver(whole.place(t)).Step(t.Context()))
		for how := range damages {
			if how == "it is not there" || how == "a frame" || events == 5 && (how == "all of it" || how == "it and the one after") {
				continue // nothing of it is left, or another test has it
			}
			t.Run(fmt.Sprint(how, " of ", events), func(t *testing.T) {
				t.Parallel()
				w, paths := whole.copyArchive(t)
				breakSegment(t, how, paths[len(paths)-1])
				_, _, err := w.heal(t.Context(), w.place(t), otherBody{w.source})
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
		healed, left, err := w.heal(t.Context(), w.place(t), w.source)
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
			require.NoError(t, w.archiverOf(w.place(t), upTo{w.source, last}, 0).Step(t.Context()))
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
		_, left, err := w.heal(t.Context(), w.place(t), upTo{w.source, last})
		require.NoError(t, err)
		require.Len(t, left, 1, how)
		require.Regexp(t, "to (seq )?9", left[0])
		require.FileExists(t, paths[1])
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
