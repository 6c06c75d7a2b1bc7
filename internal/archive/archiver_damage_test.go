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

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv/wait"
)

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
	status, err := archive.Inspect(t.Context(), w.place(t), other.Log)
	require.NoError(t, err)
	require.Len(t, status.Faults, 1)
	require.Contains(t, status.Faults[0], "holds segments of log "+w.id(t))
}

// Each of two new logs finds the place empty before the other one has written.
func TestOfTwoLogsThatBeginInOnePlaceTheSecondStops(t *testing.T) {
	t.Parallel()
	w, other := setup(t), setup(t)
	w.fill(t, 1, 3)
	other.fill(t, 1, 3)
	place := &again{w.place(t), map[string]bool{w.id(t) + "/00000000000000000001.seg": true}, func() {
		require.NoError(t, other.archiver(w.place(t)).Step(t.Context()))
	}}
	require.ErrorAs(t, w.archiver(place).Step(t.Context()), new(*archive.ContradictionError))
}

// What contradicts the log is said, and stays as it is.
func TestAnArchiveThatContradictsTheLogIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, contradict := range map[string]func(t *testing.T, w *world) archive.Source{
		"it holds more than the log": func(_ *testing.T, w *world) archive.Source {
			last := new(atomic.Uint64)
			last.Store(20)
			return upTo{w.Log, last}
		},
		"the log's message is another one":       func(_ *testing.T, w *world) archive.Source { return otherBody(w.Log) },
		"it lacks what was removed from the log": func(_ *testing.T, w *world) archive.Source { return from{w.Log, 35} },
		"a segment of a copy in which an earlier message is another one": func(t *testing.T, w *world) archive.Source {
			other := &world{Log: w.Log, path: filepath.Join(t.TempDir(), "archive")}
			altered := changed{w.Log, func(r *archive.Record) {
				if r.Seq == 1 {
					r.Body = append([]byte(" "), r.Body[1:]...)
				}
			}}
			require.NoError(t, other.archiverOf(other.place(t), altered, 0).Step(t.Context()))
			content, err := os.ReadFile(other.files(t)[1])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(w.files(t)[1], content, 0o600))
			return w.Log
		},
		"a segment of another log": func(t *testing.T, w *world) archive.Source {
			other := setupArchived(t, 30)
			content, err := os.ReadFile(other.files(t)[0])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(w.files(t)[0], content, 0o600))
			return w.Log
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setupArchived(t, 30)
			w.fill(t, 31, 40)
			from := contradict(t, w)
			before := w.files(t)
			archiver := w.archiverOf(w.place(t), from, 0)
			require.ErrorAs(t, archiver.Step(t.Context()), new(*archive.ContradictionError))
			require.Equal(t, before, w.files(t))
			status, err := archive.Inspect(t.Context(), w.place(t), from)
			require.NoError(t, err)
			require.Contains(t, strings.Join(status.Faults, "\n"), "contradicts the log")

			stop := run(t, archiver)
			wait.Until(t, func() bool { return strings.Contains(w.logged(), "level=ERROR") })
			state := archiver.State()
			require.True(t, state.Contradicts)
			require.Contains(t, state.LastError, "contradicts the log")
			require.EqualValues(t, 1, metric(t, archiver.Registerer, "payfold_archive_contradiction"))
			require.Positive(t, metric(t, archiver.Registerer, "payfold_archive_failures_total"))
			stop()
			require.Equal(t, 1, strings.Count(w.logged(), "nothing is archived any more"))
			require.Equal(t, before, w.files(t))
		})
	}
}

// A log that is set back to a backup while ingest goes on, as that of a cluster can be.
func TestALogThatIsSetBackIsNoticed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 30)
	last := new(atomic.Uint64)
	last.Store(30)
	archiver := w.archiverOf(w.place(t), upTo{w.Log, last}, 0)
	require.NoError(t, archiver.Step(t.Context()))
	last.Store(20)
	require.ErrorContains(t, archiver.Step(t.Context()), "it holds seq 30, but the log ends with seq 20")
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
	require.ErrorAs(t, w.archiverOf(place, otherBody(w.Log), 0).Step(t.Context()), new(*archive.ContradictionError), "another log")
	require.EqualValues(t, 25, w.open(t, place).Last())

	archiver := w.archiver(place)
	stop := run(t, archiver)
	wait.Until(t, func() bool { return w.open(t, place).Last() == 60 })
	wait.Until(t, func() bool { return archiver.State().LagMessages == 0 })
	require.Equal(t, 1, archiver.State().Damaged)
	require.EqualValues(t, 1, metric(t, archiver.Registerer, "payfold_archive_damaged"))
	stop()
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
			for round := range 2 { // what follows it is damaged, too
				files := w.files(t)
				breakSegment(t, how, files[len(files)-1])
				archiver := w.archiver(place)
				for i := 100 * (round + 1); i < 100*(round+1)+9; i++ { // enough for a merge
					w.fill(t, i, i)
					require.NoError(t, archiver.Step(t.Context()), "%s, round %d", how, round)
				}
				opened := w.open(t, place)
				require.EqualValues(t, events+9*(round+1), opened.Last(), "%s, round %d", how, round)
				next := uint64(1)
				require.NoError(t, opened.Read(t.Context(), 1, opened.Last(), func(r archive.Record) error {
					require.Equal(t, next, r.Seq)
					next++
					return nil
				}))
			}
			require.Contains(t, w.logged(), "the archive is damaged")
			_, left, err := w.heal(t.Context(), place, w.Log)
			require.NoError(t, err)
			require.Empty(t, left)
			require.NoError(t, w.archiver(place).Step(t.Context()))
			require.Len(t, w.files(t), len(w.requireWhole(t, place).Segments()), "the damaged ones are removed")
		}
	}
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
	w := setupArchived(t, 30)
	require.NoError(t, os.Truncate(w.files(t)[0], 10))
	w.fill(t, 31, 40)
	refused := new(atomic.Int64)
	archiver := w.archiverOf(refusing{w.place(t), refused}, w.Log, 0)
	stop := run(t, archiver)
	wait.Until(t, func() bool { return refused.Load() >= 3 }, "each attempt opens the archive again")
	require.Equal(t, 1, archiver.State().Damaged)
	require.EqualValues(t, 1, metric(t, archiver.Registerer, "payfold_archive_damaged"))
	stop()
	require.Equal(t, 1, strings.Count(w.logged(), "the archive is damaged"), w.logged())
}
