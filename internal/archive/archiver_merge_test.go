package archive_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv"
)

// One message a segment: they are merged again and again, and the log stays whole in it.
func TestSmallSegmentsAreMerged(t *testing.T) {
	t.Parallel()
	w := setup(t)
	place := w.place(t)
	archiver := w.archiver(place)
	for i := range 60 {
		w.fill(t, i, i)
		require.NoError(t, archiver.Step(t.Context()))
	}
	opened := w.requireWhole(t, place)
	require.Less(t, len(opened.Segments()), 20)
	require.Len(t, w.files(t), len(opened.Segments()), "the parts are gone")
}

// upTo lets an archiver see the log only up to a sequence.
type upTo struct {
	*testenv.Log
	last *atomic.Uint64
}

func (u upTo) Head(ctx context.Context) (archive.Head, error) {
	head, err := u.Log.Head(ctx)
	head.Last = min(head.Last, u.last.Load())
	return head, err
}

// Merges are killed, too: the log is archived in many small steps.
func TestAMergeThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 20)
	var removed bool
	for kills := 0; ; kills++ {
		w.path = filepath.Join(t.TempDir(), "archive")
		last := new(atomic.Uint64)
		steps, merging, killed := 0, false, false
		killing := &stepping{Folder: storage.Folder{Root: w.path}, Step: func(name string) error {
			removed = removed || name == "remove"
			if merging {
				if steps++; steps > kills {
					killed = true
					return errKilled
				}
			}
			return nil
		}}
		first := w.archiverOf(killing, upTo{w.Log, last}, 0)
		for i := range uint64(7) {
			last.Store(i + 1)
			require.NoError(t, first.Step(t.Context()))
		}
		merging = true
		last.Store(8)
		err := first.Step(t.Context())
		if err != nil {
			require.ErrorIs(t, err, errKilled)
		}
		place := w.place(t)
		opened := w.open(t, place)
		require.Empty(t, opened.Faults(), "killed before step %d", kills)
		last.Store(20)
		require.NoError(t, w.archiverOf(place, upTo{w.Log, last}, 0).Step(t.Context()))
		opened = w.requireWhole(t, place)
		if !killed {
			require.Greater(t, kills, 8)
			require.True(t, removed)
			require.Len(t, w.files(t), len(opened.Segments()))
			return
		}
	}
}

// undeletable is a place that removes nothing.
type undeletable struct{ storage.Place }

func (undeletable) Remove(context.Context, string) error { return errors.New("access denied") }

// Archiving goes on without the right to delete, also in a new process, and says once what stays.
func TestWithoutTheRightToDeleteArchivingGoesOn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	place := undeletable{w.place(t)}
	for process := range 2 {
		archiver := w.archiver(place)
		for i := range 20 {
			w.fill(t, process*20+i, process*20+i)
			require.NoError(t, archiver.Step(t.Context()))
		}
		require.EqualValues(t, process*20+20, w.requireWhole(t, place).Last())
		require.Equal(t, process+1, strings.Count(w.logged(), "cannot be removed, and stay"), w.logged())
	}
	require.Greater(t, len(w.files(t)), 40)

	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()), "with the right they are removed")
	require.Len(t, w.files(t), len(w.requireWhole(t, place).Segments()))
}

// Somebody may have copied a merged segment into the archive. Its bytes may be in memory only.
func TestPartsAreRemovedWhenTheMergedSegmentIsDurable(t *testing.T) {
	t.Parallel()
	w := setup(t)
	var steps []string
	archiver := w.archiver(&stepping{Folder: storage.Folder{Root: w.path}, Step: func(step string) error {
		steps = append(steps, step)
		return nil
	}})
	for i := 1; i <= 8; i++ {
		w.fill(t, i, i)
		require.NoError(t, archiver.Step(t.Context()))
	}
	require.Len(t, w.files(t), 1)
	require.Equal(t, []string{"sync object", "sync names", "remove"}, steps[len(steps)-10:len(steps)-7])
	require.NotContains(t, steps[:len(steps)-8], "remove")
}

// meanwhile is a place where something happens just before the first merged segment is written.
type meanwhile struct {
	storage.Place
	happens func()
}

func (m *meanwhile) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	if happens := m.happens; happens != nil && strings.Contains(name, "-") {
		m.happens = nil
		happens()
	}
	return m.Place.Create(ctx, name, write)
}

func TestAMergeSurvivesALargerMergeOfTheSameParts(t *testing.T) {
	t.Parallel()
	w := setup(t)
	other := w.archiver(w.place(t))
	merged := false
	place := &meanwhile{w.place(t), func() {
		merged = true
		w.fill(t, 9, 9)
		require.NoError(t, other.Step(t.Context()))
		require.Len(t, w.files(t), 1, "the other archiver has merged all parts")
	}}
	one := w.archiver(place)
	for i := range 8 {
		w.fill(t, i+1, i+1)
		require.NoError(t, one.Step(t.Context()))
	}
	require.True(t, merged)
	w.requireWhole(t, w.place(t))
	require.Len(t, w.files(t), 1, "the smaller merge is removed")
	w.fill(t, 10, 10)
	require.NoError(t, one.Step(t.Context()))
	w.requireWhole(t, w.place(t))
}

// gone is a place in which the next segments that are opened have just been merged and removed.
type gone struct {
	storage.Place
	times int
}

func (g *gone) Open(ctx context.Context, name string) (storage.Object, error) {
	if g.times--; g.times >= 0 {
		return nil, fs.ErrNotExist
	}
	return g.Place.Open(ctx, name)
}

func TestSegmentsThatAreMergedAgainAndAgainAreReadAndChecked(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 5)
	place := &gone{Place: w.place(t)}
	opened := w.open(t, place)
	place.times = 3
	count := 0
	require.NoError(t, opened.Read(t.Context(), 1, 5, func(archive.Record) error {
		count++
		return nil
	}))
	require.Equal(t, 5, count)
	place.times = 3
	require.NoError(t, opened.Check(t.Context(), func(fault error) { require.NoError(t, fault) }))
}
