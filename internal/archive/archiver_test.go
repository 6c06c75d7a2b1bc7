package archive_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestTheArchiveHoldsTheLogByteByByte(t *testing.T) {
	t.Parallel()
	w := setup(t)
	place := w.place(t)
	archiver := w.archiver(place)
	require.NoError(t, archiver.Step(t.Context()), "an empty log")
	require.Empty(t, w.files(t))
	for i := range 5 {
		w.fill(t, i*20, i*20+19)
		require.NoError(t, archiver.Step(t.Context()))
		w.requireWhole(t, place)
	}
	require.NoError(t, archiver.Step(t.Context()), "nothing new")
	require.NoError(t, w.archiver(place).Step(t.Context()), "a new process")
	w.requireWhole(t, place)
	for _, path := range w.files(t) {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "bodies are personal data")
	}
}

// The archiver is killed before each of its changes of the file system in turn. Whatever it has
// left, a new one goes on, and there is no gap at any moment.
func TestAnArchiverThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 40)
	for kills := 0; ; kills++ {
		w.path = filepath.Join(t.TempDir(), "archive")
		err := w.archiver(w.killedAfter(kills)).Step(t.Context())
		place := w.place(t)
		require.Empty(t, w.open(t, place).Faults(), "killed before step %d", kills)
		require.NoError(t, w.archiver(place).Step(t.Context()))
		w.requireWhole(t, place)
		if err == nil {
			require.Greater(t, kills, 20)
			return
		}
		require.ErrorIs(t, err, errKilled)
	}
}

// Two archivers of one log, and readers beside them: no error, no gap, one log.
func TestTwoArchiversShareAnArchive(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	for range 2 {
		archiver := w.archiver(w.place(t))
		group.Go(func() error { return archiver.Run(ctx) })
	}
	id := w.id(t)
	reading := w.place(t)
	group.Go(func() error {
		opened, err := archive.Open(ctx, reading, id)
		for ; err == nil && ctx.Err() == nil; err = opened.Refresh(ctx) {
			if faults := opened.Faults(); len(faults) > 0 {
				return errors.Join(faults...)
			}
			next := max(opened.First(), 1)
			if err := opened.Read(ctx, next, opened.Last(), func(r archive.Record) error {
				if r.Seq != next {
					return errors.New("a reader sees a gap")
				}
				next++
				return nil
			}); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	})
	for i := range 80 {
		w.fill(t, i*3, i*3+2)
	}
	wait.Until(t, func() bool { return ctx.Err() != nil || w.open(t, w.place(t)).Last() == 240 })
	stop()
	require.NoError(t, group.Wait())
	w.requireWhole(t, w.place(t))
	require.NotContains(t, w.logged(), "level=ERROR")
}

// growing is a log in which something happens as soon as its head was read for the first time.
type growing struct {
	*testenv.Log
	grow func()
}

func (g *growing) Head(ctx context.Context) (archive.Head, error) {
	head, err := g.Log.Head(ctx)
	if grow := g.grow; grow != nil {
		g.grow = nil
		grow()
	}
	return head, err
}

func TestWhatAnotherArchiverArchivesAfterTheHeadWasReadContradictsNothing(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 3)
	other := w.archiver(w.place(t))
	log := &growing{w.Log, func() {
		w.fill(t, 4, 6)
		require.NoError(t, other.Step(t.Context()))
	}}
	archiver := w.archiverOf(w.place(t), log, 0)
	require.NoError(t, archiver.Step(t.Context()))
	w.fill(t, 7, 9)
	require.NoError(t, archiver.Step(t.Context()))
	require.EqualValues(t, 9, w.open(t, w.place(t)).Last())
	w.requireWhole(t, w.place(t))
}

// failing is a place that fails while it is told to.
type failing struct {
	storage.Place
	fails *atomic.Bool
}

func (f failing) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	if f.fails.Load() {
		return errors.New("the store is away")
	}
	return f.Place.Create(ctx, name, write)
}

func TestAPlaceThatIsAwayIsWaitedForAndTheLagIsSaid(t *testing.T) {
	t.Parallel()
	w := setup(t)
	fails := new(atomic.Bool)
	fails.Store(true)
	archiver := w.archiverOf(failing{w.place(t), fails}, w.Log, 10*time.Millisecond)
	stop := run(t, archiver)
	w.fill(t, 1, 5)
	wait.Until(t, func() bool {
		return strings.Contains(w.logged(), "the store is away") && strings.Contains(w.logged(), "the archive is behind the log")
	})
	state := archiver.State()
	require.Contains(t, state.LastError, "the store is away")
	require.False(t, state.Contradicts)
	require.Positive(t, state.LagMessages)
	require.Positive(t, state.LagSeconds)
	w.fill(t, 6, 10)
	fails.Store(false)
	wait.Until(t, func() bool { return strings.Contains(w.logged(), "the archive is written again") })
	wait.Until(t, func() bool { return w.open(t, w.place(t)).Last() == 10 })
	wait.Until(t, func() bool { return archiver.State().LagMessages == 0 })
	wait.Until(t, func() bool {
		return archiver.State() == archive.State{Archive: w.path, LookedAt: archiver.State().LookedAt}
	})
	stop()
	w.requireWhole(t, w.place(t))
	require.NotContains(t, w.logged(), "level=ERROR")
}

// unlisted is a place that never says what it holds.
type unlisted struct{ storage.Place }

func (unlisted) List(context.Context, string) ([]string, error) {
	return nil, errors.New("the store is away")
}

// What waits is not known then. That the archive falls behind is.
func TestTheLagGrowsWhereTheArchiveWasNeverRead(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 5)
	archiver := w.archiverOf(unlisted{w.place(t)}, w.Log, 10*time.Millisecond)
	stop := run(t, archiver)
	wait.Until(t, func() bool { return strings.Contains(w.logged(), "the archive is behind the log") })
	require.Positive(t, metric(t, archiver.Registerer, "payfold_archive_lag_seconds"))
	stop()
}

// A segment is cut when the oldest message has waited for the interval, or when there are enough
// bytes.
func TestASegmentIsCutByAgeOrBySize(t *testing.T) {
	t.Parallel()
	w := setup(t)
	place := w.place(t)
	archiver := w.archiverOf(place, w.Log, time.Hour)
	w.fill(t, 1, 2)
	require.NoError(t, archiver.Step(t.Context()))
	require.Empty(t, w.files(t), "neither")
	require.NoError(t, w.archiverOf(place, w.Log, 0).Step(t.Context()))
	require.Len(t, w.files(t), 1, "age")
	archiver = w.archiverOf(place, w.Log, time.Hour)
	require.NoError(t, archiver.Step(t.Context()))
	w.fill(t, 3, 60)
	require.NoError(t, archiver.Step(t.Context()))
	require.Greater(t, len(w.files(t)), 2, "size")
	w.requireWhole(t, place)
}

func TestInspectSaysWhatTheArchiveHolds(t *testing.T) {
	t.Parallel()
	w := setup(t)
	place := w.place(t)
	empty, err := archive.Inspect(t.Context(), place, nil)
	require.NoError(t, err)
	require.Equal(t, archive.Status{Archive: w.path}, *empty)
	w.fill(t, 1, 30)
	require.NoError(t, w.archiver(place).Step(t.Context()))
	w.fill(t, 31, 33)
	got, err := archive.Inspect(t.Context(), place, w.Log)
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 30, 3}, []uint64{got.First, got.Last, got.LagMessages})
	require.Equal(t, w.id(t), got.LogID)
	require.Empty(t, got.Faults)
	away, err := archive.Inspect(t.Context(), place, nil)
	require.NoError(t, err)
	require.Equal(t, got.LogID, away.LogID)
	require.EqualValues(t, 30, away.Last)
}

// Another archiver may have linked its segment and not have synced the folder yet. A power cut could keep the next segment and
// lose that one.
func TestNothingFollowsASegmentWhoseNameIsNotDurable(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 20)
	w.fill(t, 21, 30)
	before := w.files(t)
	failure := errors.New("the disk does not answer")
	place := &stepping{Folder: storage.Folder{Root: w.path}, Step: func(change string) error {
		if change == "sync names" {
			return failure
		}
		return nil
	}}
	require.ErrorIs(t, w.archiver(place).Step(t.Context()), failure)
	require.Equal(t, before, w.files(t))
	place.Step = nil
	require.NoError(t, w.archiver(place).Step(t.Context()))
	w.requireWhole(t, w.place(t))
}
