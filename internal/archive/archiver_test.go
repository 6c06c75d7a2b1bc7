package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
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

// The archiver is killed before each of its changes of the file system in turn. Whatever it has
// left, a new one goes on, and there is no gap at any moment.
func TestAnArchiverThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 40)
	for kills := 0; ; kills++ {
		w.path = filepath.Join(t.TempDir(), "archive")
		steps := 0
		err := w.archiver(&storage.Folder{Root: w.path, Step: func(string) error {
			if steps++; steps > kills {
				return errKilled
			}
			return nil
		}}).Step(t.Context())
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

// upTo lets an archiver see the log only up to a sequence.
type upTo struct {
	source
	last *atomic.Uint64
}

func (u upTo) Head(ctx context.Context) (archive.Head, error) {
	head, err := u.source.Head(ctx)
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
		killing := &storage.Folder{Root: w.path, Step: func(name string) error {
			removed = removed || name == "remove"
			if merging {
				if steps++; steps > kills {
					killed = true
					return errKilled
				}
			}
			return nil
		}}
		first := w.archiverOf(killing, upTo{w.source, last}, 0)
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
		require.NoError(t, w.archiverOf(place, upTo{w.source, last}, 0).Step(t.Context()))
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
	archiver := w.archiver(&storage.Folder{Root: w.path, Step: func(step string) error {
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
	wait.Until(t, func() bool { return w.open(t, w.place(t)).Last() == 240 })
	stop()
	require.NoError(t, group.Wait())
	w.requireWhole(t, w.place(t))
	require.NotContains(t, w.logged(), "level=ERROR")
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

func TestALogDoesNotShareAPlaceWithAnother(t *testing.T) {
	t.Parallel()
	w, other := setup(t), setup(t)
	other.path = w.path
	w.fill(t, 1, 3)
	other.fill(t, 1, 3)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	before := w.files(t)
	err := other.archiver(w.place(t)).Step(t.Context())
	require.ErrorAs(t, err, new(*archive.ContradictionError))
	require.ErrorContains(t, err, w.id(t))
	require.ErrorContains(t, err, other.id(t))
	require.Equal(t, before, w.files(t))
}

// What contradicts the log is said, and stays as it is.
func TestAnArchiveThatContradictsTheLogIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, contradict := range map[string]func(t *testing.T, w *world) archive.Source{
		"it holds more than the log": func(_ *testing.T, w *world) archive.Source {
			last := new(atomic.Uint64)
			last.Store(20)
			return upTo{w.source, last}
		},
		"the log's message is another one": func(_ *testing.T, w *world) archive.Source { return otherBody{w.source} },
		"a segment of another log": func(t *testing.T, w *world) archive.Source {
			other := setup(t)
			other.fill(t, 1, 30)
			require.NoError(t, other.archiver(other.place(t)).Step(t.Context()))
			content, err := os.ReadFile(other.files(t)[0])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(w.files(t)[0], content, 0o600))
			return w.source
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.fill(t, 1, 30)
			require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
			w.fill(t, 31, 40)
			from := contradict(t, w)
			before := w.files(t)
			archiver := w.archiverOf(w.place(t), from, 0)
			require.ErrorAs(t, archiver.Step(t.Context()), new(*archive.ContradictionError))
			require.Equal(t, before, w.files(t))
			status, err := archive.Inspect(t.Context(), w.place(t), from)
			require.NoError(t, err)
			require.Contains(t, strings.Join(status.Faults, "\n"), "contradicts the log")

			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- archiver.Run(ctx) }()
			wait.Until(t, func() bool { return strings.Contains(w.logged(), "level=ERROR") })
			state := archiver.State()
			require.True(t, state.Contradicts)
			require.Contains(t, state.LastError, "contradicts the log")
			stop()
			require.NoError(t, <-ended)
			require.Equal(t, 1, strings.Count(w.logged(), "nothing is archived any more"))
			require.Equal(t, before, w.files(t))
		})
	}
}

// otherBody is a log with other bodies.
type otherBody struct{ source }

func (o otherBody) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return o.source.ReadRecords(ctx, from, until, func(r archive.Record) error {
		r.Body = []byte("{}")
		return deliver(r)
	})
}

// Damage in the middle is said, new messages are still archived, and what is whole is read.
func TestADamagedArchiveIsReadAroundTheDamage(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 60)
	place := w.place(t)
	require.NoError(t, w.archiver(place).Step(t.Context()))
	segments := w.requireWhole(t, place).Segments()
	require.Greater(t, len(segments), 2)
	damage(t, w.files(t)[1], segments[1].Size-20)
	w.fill(t, 61, 70)
	require.NoError(t, w.archiver(place).Step(t.Context()))
	require.Contains(t, w.logged(), "the archive is damaged")
	require.Contains(t, w.logged(), segments[1].Name)

	opened := w.open(t, place)
	require.EqualValues(t, 70, opened.Last())
	var seen []uint64
	note := func(r archive.Record) error {
		seen = append(seen, r.Seq)
		return nil
	}
	err := opened.Read(t.Context(), 1, 70, note)
	require.ErrorAs(t, err, new(*archive.DamagedError))
	require.Len(t, seen, int(segments[0].Count()))
	require.NoError(t, opened.Read(t.Context(), segments[1].Last+1, 70, note))

	require.NoError(t, os.Remove(w.files(t)[1]))
	opened = w.open(t, place)
	gap := new(archive.GapError)
	require.ErrorAs(t, opened.Read(t.Context(), 1, 70, func(archive.Record) error { return nil }), &gap)
	require.Equal(t, archive.GapError{From: segments[1].First, To: segments[1].Last}, *gap)
	require.Len(t, opened.Faults(), 1)
}

// Damage in the newest frames is a fault, and no reason to stop. An older message is compared then.
func TestTheArchiveGoesOnBehindDamageInItsNewestFrames(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 25)
	place := w.place(t)
	require.NoError(t, w.archiver(place).Step(t.Context()))
	files := w.files(t)
	newest := files[len(files)-1]
	content, err := os.ReadFile(newest)
	require.NoError(t, err)
	magic := []byte{0x51, 0x2A, 0x4D, 0x18} // of the head of each frame
	for at := bytes.LastIndex(content, magic); at > 0; at = bytes.LastIndex(content[:at], magic) {
		content[at+40] ^= 1
	}
	require.NoError(t, os.WriteFile(newest, content, 0o600))

	w.fill(t, 26, 60)
	require.ErrorAs(t, w.archiverOf(place, otherBody{w.source}, 0).Step(t.Context()), new(*archive.ContradictionError), "another log")
	require.EqualValues(t, 25, w.open(t, place).Last())

	archiver := w.archiver(place)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- archiver.Run(ctx) }()
	wait.Until(t, func() bool { return w.open(t, place).Last() == 60 })
	wait.Until(t, func() bool { return archiver.State().LagMessages == 0 })
	require.Equal(t, 1, archiver.State().Damaged)
	stop()
	require.NoError(t, <-ended)
	require.Contains(t, w.logged(), "the archive is damaged")
	require.Contains(t, w.logged(), filepath.Base(newest))
}

// A damaged segment keeps its name, which the next segment would have. So that one gets another name.
func TestTheArchiveGoesOnBesideADamagedNewestSegment(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"its header", "its footer", "its end", "all of it"} {
		for _, events := range []int{1, 25} { // the only segment, and the third
			w := setup(t)
			w.fill(t, 1, events)
			place := w.place(t)
			require.NoError(t, w.archiver(place).Step(t.Context()))
			for round := range 3 { // what is written beside it is damaged, too
				files := w.files(t)
				breakSegment(t, how, files[len(files)-1])
				archiver := w.archiver(place)
				for i := 100 * (round + 1); i < 100*(round+1)+12; i++ {
					w.fill(t, i, i)
					require.NoError(t, archiver.Step(t.Context()), "%s, round %d", how, round)
				}
				opened := w.open(t, place)
				require.EqualValues(t, events+12*(round+1), opened.Last(), "%s, round %d", how, round)
				next := uint64(1)
				require.NoError(t, opened.Read(t.Context(), 1, opened.Last(), func(r archive.Record) error {
					require.Equal(t, next, r.Seq)
					next++
					return nil
				}))
			}
			require.Contains(t, w.logged(), "the archive is damaged")
			_, left, err := w.heal(t.Context(), place, w.source)
			require.NoError(t, err)
			require.Empty(t, left)
			require.NoError(t, w.archiver(place).Step(t.Context()))
			require.Len(t, w.files(t), len(w.requireWhole(t, place).Segments()), "the damaged ones are removed")
		}
	}
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
	archiver := w.archiverOf(failing{w.place(t), fails}, w.source, 10*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- archiver.Run(ctx) }()
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
	require.NoError(t, <-ended)
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
	archiver := w.archiverOf(unlisted{w.place(t)}, w.source, 10*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- archiver.Run(ctx) }()
	wait.Until(t, func() bool { return strings.Contains(w.logged(), "the archive is behind the log") })
	families, err := archiver.Registerer.(*prometheus.Registry).Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "payfold_archive_lag_seconds" {
			require.Positive(t, family.GetMetric()[0].GetGauge().GetValue())
			stop()
		}
	}
	require.Error(t, ctx.Err(), "there is no such metric")
	require.NoError(t, <-ended)
}

func TestSegmentsThatDisappearAreArchivedAgain(t *testing.T) {
	t.Parallel()
	for what, remove := range map[string]func(files []string){
		"the newest segment": func(files []string) { require.NoError(t, os.Remove(files[len(files)-1])) },
		"all of them":        func(files []string) { require.NoError(t, os.RemoveAll(filepath.Dir(files[0]))) },
	} {
		w := setup(t)
		w.fill(t, 1, 30)
		archiver := w.archiver(w.place(t))
		require.NoError(t, archiver.Step(t.Context()))
		require.Greater(t, len(w.files(t)), 1)
		remove(w.files(t))
		w.fill(t, 31, 40)
		require.NoError(t, archiver.Step(t.Context()), what)
		require.EqualValues(t, 40, w.requireWhole(t, w.place(t)).Last(), what)
		require.Equal(t, 1, strings.Count(w.logged(), "segments of the archive are gone"), what)
	}
}

// refusing counts the segments that it refuses.
type refusing struct {
	storage.Place
	refused *atomic.Int64
}

func (r refusing) Create(context.Context, string, func(io.Writer) error) error {
	r.refused.Add(1)
	return errors.New("the store is full")
}

func TestDamageIsSaidOnceHoweverOftenTheArchiveIsOpened(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 30)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	require.NoError(t, os.Truncate(w.files(t)[0], 10))
	w.fill(t, 31, 40)
	refused := new(atomic.Int64)
	archiver := w.archiverOf(refusing{w.place(t), refused}, w.source, 0)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- archiver.Run(ctx) }()
	wait.Until(t, func() bool { return refused.Load() >= 3 }, "each attempt opens the archive again")
	require.Equal(t, 1, archiver.State().Damaged)
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, 1, strings.Count(w.logged(), "the archive is damaged"), w.logged())
}

// A segment is cut when the oldest message has waited for the interval, or when there are enough
// bytes.
func TestASegmentIsCutByAgeOrBySize(t *testing.T) {
	t.Parallel()
	w := setup(t)
	place := w.place(t)
	archiver := w.archiverOf(place, w.source, time.Hour)
	w.fill(t, 1, 2)
	require.NoError(t, archiver.Step(t.Context()))
	require.Empty(t, w.files(t), "neither")
	require.NoError(t, w.archiverOf(place, w.source, 0).Step(t.Context()))
	require.Len(t, w.files(t), 1, "age")
	archiver = w.archiverOf(place, w.source, time.Hour)
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
	got, err := archive.Inspect(t.Context(), place, w.source)
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 30, 3}, []uint64{got.First, got.Last, got.LagMessages})
	require.Equal(t, w.id(t), got.LogID)
	require.Empty(t, got.Faults)
	away, err := archive.Inspect(t.Context(), place, nil)
	require.NoError(t, err)
	require.Equal(t, got.LogID, away.LogID)
	require.EqualValues(t, 30, away.Last)
}
