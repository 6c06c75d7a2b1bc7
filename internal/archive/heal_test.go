package archive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv"
)

func (w *world) heal(ctx context.Context, place storage.Place, source archive.Source) ([]archive.Healed, []string, error) {
	result, err := archive.Heal(ctx, archive.Config{
		Place: place, Source: source, Logger: slog.New(slog.NewTextHandler(&w.out, nil)), SegmentBytes: 8 << 10, FrameBytes: 1 << 10,
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
	copied := &world{Log: w.Log, path: filepath.Join(t.TempDir(), "archive")}
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
	w := setupArchived(t, 80)
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
				healed, left, err := w.heal(t.Context(), w.place(t), w.Log)
				require.NoError(t, err)
				require.Empty(t, left)
				if how == "it is not there" && at == count-1 {
					require.Empty(t, healed, "it looks as if it was never written; an archiver writes it")
				} else {
					require.Len(t, healed, 1)
				}
				require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
				w.requireWhole(t, w.place(t))
				healed, left, err = w.heal(t.Context(), w.place(t), w.Log)
				require.NoError(t, err)
				require.Empty(t, left)
				require.Empty(t, healed, "nothing is left to heal")
			})
		}
	}
}

func TestAHealThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	whole := setupArchived(t, 80)
	for kills := 0; ; kills++ {
		w, paths := whole.copyArchive(t)
		breakSegment(t, "a frame", paths[1])
		breakSegment(t, "its footer", paths[2])
		_, _, err := w.heal(t.Context(), w.killedAfter(kills), w.Log)
		_, left, again := w.heal(t.Context(), w.place(t), w.Log)
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

// The first run has written what replaces the damaged segment, and the second one finds it.
func TestADamagedSegmentIsRenamedWhenItsReplacementIsDurable(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 80)
	damaged := w.files(t)[1]
	breakSegment(t, "its footer", damaged)
	failure := errors.New("the disk does not answer")
	place := &stepping{Folder: storage.Folder{Root: w.path}, Step: func(change string) error {
		if change == "sync object" {
			return failure
		}
		return nil
	}}
	for range 2 {
		_, _, err := w.heal(t.Context(), place, w.Log)
		require.ErrorIs(t, err, failure)
		require.FileExists(t, damaged)
	}
	place.Step = nil
	_, left, err := w.heal(t.Context(), place, w.Log)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoFileExists(t, damaged)
}

// A segment that was healed before can be damaged, too: its name is taken.
func TestAHealedSegmentIsHealedAgain(t *testing.T) {
	t.Parallel()
	whole := setupArchived(t, 80)
	for how := range damages {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, _ := whole.copyArchive(t)
			for at := range 6 { // several of the first half are then parts of one that was healed
				breakSegment(t, how, w.files(t)[1+at%2])
				_, left, err := w.heal(t.Context(), w.place(t), w.Log)
				require.NoError(t, err)
				require.Empty(t, left)
				w.requireWhole(t, w.place(t))
			}
		})
	}
}

// A damaged segment can reach beyond what has to be made again.
func TestADamagedSegmentIsRenamedWhereSeveralHoldWhatItHeld(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 80)
	segments, paths := w.open(t, w.place(t)).Segments(), w.files(t)
	damaged := filepath.Join(filepath.Dir(paths[0]), fmt.Sprintf("%020d-%020d.seg", segments[1].First, segments[2].Last))
	require.NoError(t, errors.Join(os.WriteFile(damaged, make([]byte, 100), 0o600), os.Remove(paths[1])))
	healed, left, err := w.heal(t.Context(), w.place(t), w.Log)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, healed, 2)
	require.NoFileExists(t, damaged)
	w.requireWhole(t, w.place(t))
}

// A segment of one message cannot be divided, so that it would get a free name.
func TestASegmentOfOneMessageIsHealedAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 1)
	for range 4 {
		breakSegment(t, "a frame", w.files(t)[0])
		_, left, err := w.heal(t.Context(), w.place(t), w.Log)
		require.NoError(t, err)
		require.Empty(t, left)
		w.requireWhole(t, w.place(t))
	}
}

func TestAnotherLogHealsNothing(t *testing.T) {
	t.Parallel()
	whole := setupArchived(t, 80)
	for _, how := range []string{"a frame", "it is not there"} {
		w, paths := whole.copyArchive(t)
		breakSegment(t, how, paths[1])
		before := w.files(t)
		content, _ := os.ReadFile(paths[1]) // nil if it is not there
		_, _, err := w.heal(t.Context(), w.place(t), otherBody(w.Log))
		require.ErrorAs(t, err, new(*archive.ContradictionError), how)
		require.Equal(t, before, w.files(t), how)
		same, _ := os.ReadFile(paths[1])
		require.Equal(t, content, same, how)
	}
}

// from lets an archiver see the log only from a sequence on.
type from struct {
	*testenv.Log
	first uint64
}

func (f from) Head(ctx context.Context) (archive.Head, error) {
	head, err := f.Log.Head(ctx)
	head.First = f.first
	return head, err
}

func TestWhatTheLogNoLongerHasIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	whole := setupArchived(t, 80)
	w, paths := whole.copyArchive(t)
	breakSegment(t, "a frame", paths[0])
	breakSegment(t, "a frame", paths[len(paths)-1])
	healed, left, err := w.heal(t.Context(), w.place(t), from{w.Log, 60})
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
	}}, w.Log)
	require.NoError(t, err)
	require.Empty(t, left)
	w.fill(t, 21, 22)
	require.NoError(t, archiver.Step(t.Context()))
	w.requireWhole(t, w.place(t))
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
	checked, err := archive.CheckAgainst(t.Context(), busy, w.id(t), w.Log, true)
	require.NoError(t, err)
	require.Empty(t, checked.Faults)
	healed, left, err := w.heal(t.Context(), busy, w.Log)
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
