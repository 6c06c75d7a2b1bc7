package archive_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// trimmable is a log whose server forgets what is trimmed.
type trimmable struct {
	*testenv.Log
	first  atomic.Uint64
	keeps  atomic.Bool // its stream keeps every message
	record func(*archive.Record)
	file   uint64 // so many messages are in a file, of which the server removes whole ones
	trims  []uint64
}

func (l *trimmable) Head(ctx context.Context) (archive.Head, error) {
	head, err := l.Log.Head(ctx)
	head.First, head.Trimmable = max(head.First, l.first.Load()), !l.keeps.Load()
	return head, err
}

var errForgotten = errors.New("the server does not have it any more")

func (l *trimmable) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	if from < l.first.Load() {
		return errForgotten
	}
	return l.Log.ReadRecords(ctx, from, until, func(r archive.Record) error {
		if l.record != nil {
			l.record(&r)
		}
		return deliver(r)
	})
}

// Trim removes whole files.
func (l *trimmable) Trim(_ context.Context, seq uint64) (uint64, error) {
	l.trims = append(l.trims, seq)
	l.first.Store(max(l.first.Load(), seq-seq%l.file))
	return max(l.first.Load(), 1), nil
}

func (l *trimmable) TrimPoint(_ context.Context, seq uint64) (uint64, error) {
	return max(l.first.Load(), seq-seq%l.file, 1), nil
}

// trimmed is a world with an archive of so many events, about ten in a segment, and its log.
func trimmed(t *testing.T, events int) (*world, *trimmable) {
	t.Helper()
	w := setupArchived(t, events)
	return w, &trimmable{Log: w.Log, file: 3}
}

func (w *world) trimmer(t *testing.T, log *trimmable, keep archive.Keep) *archive.Trimmer {
	t.Helper()
	return w.trimmerOf(w.place(t), log, keep)
}

func (w *world) trimmerOf(place storage.Place, log *trimmable, keep archive.Keep) *archive.Trimmer {
	return archive.NewTrimmer(archive.TrimConfig{
		Place: place, Log: log, Keep: keep, Interval: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&w.out, nil)), Registerer: prometheus.NewRegistry(),
	})
}

func TestWhatIsArchivedIsTrimmedExceptWhatIsToBeKept(t *testing.T) {
	t.Parallel()
	w, log := trimmed(t, 100)
	segments := w.open(t, w.place(t)).Segments()
	for keep, last := range map[archive.Keep]uint64{
		{Messages: 40}:         60,
		{Messages: 100}:        0,
		{Messages: 1 << 63}:    0,
		{Age: time.Hour}:       0,
		{Age: time.Nanosecond}: 100,
		{}:                     0,
	} {
		log.first.Store(0)
		require.NoError(t, w.trimmer(t, log, keep).Step(t.Context()))
		want := uint64(0) // the end of the last segment that may go
		for _, info := range segments {
			if info.Last <= last {
				want = info.Last + 1
			}
		}
		require.Equal(t, want-want%3, log.first.Load(), "%+v", keep)
	}

	// Each process goes on where another one has stopped, also within a segment.
	log.first.Store(0)
	trimmer := w.trimmer(t, log, archive.Keep{Messages: 50})
	require.NoError(t, trimmer.Step(t.Context()))
	before := log.first.Load()
	w.fill(t, 101, 200)
	require.NoError(t, w.archiverOf(w.place(t), log, 0).Step(t.Context()))
	log.trims = nil
	require.NoError(t, trimmer.Step(t.Context()))
	require.Greater(t, log.first.Load(), before+80)
	for _, seq := range log.trims {
		require.Greater(t, seq, before, "what was proven once is not read again")
	}
	log.first.Store(before)
	require.NoError(t, w.trimmer(t, log, archive.Keep{Messages: 10}).Step(t.Context()))
	require.Greater(t, log.first.Load(), before+120)
	require.Contains(t, w.logged(), `msg="the log was trimmed"`)
}

// Another process may have linked a segment and not have synced its folder yet. A power cut would take the name back.
func TestNothingIsTrimmedBeforeTheNamesOfItsSegmentsAreDurable(t *testing.T) {
	t.Parallel()
	w, log := trimmed(t, 100)
	failure := errors.New("the disk does not answer")
	place := &stepping{Folder: storage.Folder{Root: w.path}, Step: func(change string) error {
		if change == "sync object" {
			return nil
		}
		require.Equal(t, "sync names", change)
		require.Empty(t, log.trims)
		return failure
	}}
	trimmer := w.trimmerOf(place, log, archive.Keep{Messages: 1})
	require.ErrorIs(t, trimmer.Step(t.Context()), failure)
	require.Empty(t, log.trims)
	place.Step = nil
	require.NoError(t, trimmer.Step(t.Context()))
	require.NotEmpty(t, log.trims)
}

// overtaken is a log that another process trims further meanwhile.
type overtaken struct {
	*trimmable
	by uint64
}

func (o overtaken) Trim(ctx context.Context, seq uint64) (uint64, error) {
	return o.trimmable.Trim(ctx, seq+o.by)
}

func TestATrimmerGoesOnWhereAnotherOneHasStopped(t *testing.T) {
	t.Parallel()
	w, log := trimmed(t, 100)
	trimmer := archive.NewTrimmer(archive.TrimConfig{
		Place: w.place(t), Log: overtaken{log, 25}, Keep: archive.Keep{Messages: 50}, Interval: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&w.out, nil)), Registerer: prometheus.NewRegistry(),
	})
	require.NoError(t, trimmer.Step(t.Context()))
	require.Greater(t, len(log.trims), 1)
	require.Greater(t, log.first.Load(), uint64(40))
}

// syncing notes which objects it is asked to sync.
type syncing struct {
	storage.Place
	synced []string
}

func (s *syncing) Sync(ctx context.Context, folder string, objects ...string) error {
	s.synced = append(s.synced, objects...)
	return s.Place.Sync(ctx, folder, objects...)
}

// Somebody may have copied a segment into the archive. Its bytes may be in memory only.
func TestNothingIsTrimmedBeforeTheBytesOfItsSegmentsAreDurable(t *testing.T) {
	t.Parallel()
	w, log := trimmed(t, 100)
	segments := w.open(t, w.place(t)).Segments()
	place := &syncing{Place: w.place(t)}
	trimmer := w.trimmerOf(place, log, archive.Keep{Messages: 60})
	require.NoError(t, trimmer.Step(t.Context()))
	var proven []string
	for _, info := range segments {
		if info.First < log.first.Load() {
			proven = append(proven, info.Name)
		}
	}
	require.NotEmpty(t, proven)
	require.Less(t, len(proven), len(segments))
	require.Equal(t, proven, place.synced, "what is removed from the log, each once, and nothing else")

	failure := errors.New("the disk does not answer")
	before := log.first.Load()
	trimmer = w.trimmerOf(&stepping{Folder: storage.Folder{Root: w.path}, Step: func(string) error { return failure }}, log, archive.Keep{Messages: 1})
	require.ErrorIs(t, trimmer.Step(t.Context()), failure)
	require.Equal(t, before, log.first.Load())
}

// Whatever is wrong with the archive, or differs in the log, nothing is removed from the log.
func TestNothingIsTrimmedThatTheArchiveDoesNotGiveBack(t *testing.T) {
	t.Parallel()
	keep := archive.Keep{Messages: 1}
	w, log := trimmed(t, 100)
	trimmer := w.trimmer(t, log, keep)
	require.NoError(t, trimmer.Step(t.Context()))
	require.Greater(t, log.first.Load(), uint64(80))

	for _, back := range []int64{30, 1500} { // from the end: in the footer, and in a frame
		w, log := trimmed(t, 100)
		segment := w.files(t)[3]
		info, err := os.Stat(segment)
		require.NoError(t, err)
		damage(t, segment, info.Size()-back)
		require.Error(t, w.trimmer(t, log, keep).Step(t.Context()))
		require.LessOrEqual(t, log.first.Load(), w.open(t, w.place(t)).Segments()[2].Last+1)
	}
	w, log = trimmed(t, 100)
	log.record = func(r *archive.Record) {
		if r.Seq == 25 {
			r.Body = append([]byte(" "), r.Body...)
		}
	}
	require.ErrorContains(t, w.trimmer(t, log, keep).Step(t.Context()), "are others than in segment")
	require.LessOrEqual(t, log.first.Load(), uint64(25))

	w, log = trimmed(t, 100)
	log.keeps.Store(true)
	require.ErrorContains(t, w.trimmer(t, log, keep).Step(t.Context()), "made without LOG_KEEP")
	require.Zero(t, log.first.Load())

	w, log = trimmed(t, 100)
	w.path = t.TempDir() // another place, in which nothing is yet
	log.first.Store(50)
	require.ErrorContains(t, w.trimmer(t, log, keep).Step(t.Context()), "it holds nothing")
	require.ErrorContains(t, w.archiverOf(w.place(t), log, 0).Step(t.Context()), "it holds nothing")
	require.Empty(t, w.files(t), "and no archive is begun there")
}

// Two ingests of a cluster begin with an empty log. One archives and trims while the other one is frozen.
func TestAnArchiverThatFoundNothingDoesNotBeginAnotherArchiveAfterATrim(t *testing.T) {
	t.Parallel()
	w := setup(t)
	log := &trimmable{Log: w.Log, file: 1}
	late := w.archiverOf(w.place(t), log, 0)
	require.NoError(t, late.Step(t.Context()))
	w.fill(t, 1, 30)
	require.NoError(t, w.archiverOf(w.place(t), log, 0).Step(t.Context()))
	w.fill(t, 31, 60)
	require.NoError(t, w.trimmer(t, log, archive.Keep{Messages: 5}).Step(t.Context()))
	require.EqualValues(t, 31, log.first.Load(), "all that is archived")
	require.NoError(t, late.Step(t.Context()))
	w.requireWhole(t, w.place(t))
}

// Segments are merged, or another process trims, while a trimmer reads.
func TestATrimmerGoesOnBesideMergesAndOthers(t *testing.T) {
	t.Parallel()
	happens := func(happens func(w *world, log *trimmable)) (*world, *trimmable) {
		w, log := trimmed(t, 60)
		place := &beside{Place: w.place(t)}
		// After all segments were opened, and the newest and the oldest one were read.
		place.next = append(make([]func(), len(w.files(t))+2), func() { happens(w, log) })
		require.NoError(t, w.trimmerOf(place, log, archive.Keep{Messages: 20}).Step(t.Context()))
		require.Empty(t, place.next)
		return w, log
	}
	var merged []string
	w, log := happens(func(w *world, log *trimmable) {
		merged = w.files(t)
		w.fill(t, 61, 200)
		require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
		w.fill(t, 201, 201)
		large := w.archiver(w.place(t))
		large.SegmentBytes = 1 << 20
		require.NoError(t, large.Step(t.Context()))
	})
	require.NotSubset(t, w.files(t), merged)
	require.NotZero(t, log.first.Load())
	require.NoError(t, w.trimmer(t, log, archive.Keep{Messages: 20}).Step(t.Context()))

	_, log = happens(func(w *world, log *trimmable) {
		require.NoError(t, w.trimmer(t, log, archive.Keep{Messages: 10}).Step(t.Context()))
	})
	require.Greater(t, log.first.Load(), uint64(30))
}

// beside is a place in which something happens before a segment is opened: the next of these.
type beside struct {
	storage.Place
	mu   sync.Mutex
	next []func()
}

func (p *beside) Open(ctx context.Context, name string) (storage.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.next) > 0 {
		happens := p.next[0]
		if p.next = p.next[1:]; happens != nil {
			happens()
		}
	}
	return p.Place.Open(ctx, name)
}

func TestATrimmerSaysOnceWhyItDoesNotTrim(t *testing.T) {
	t.Parallel()
	w, log := trimmed(t, 20)
	log.keeps.Store(true)
	registry := prometheus.NewRegistry()
	trimmer := archive.NewTrimmer(archive.TrimConfig{
		Place: w.place(t), Log: log, Keep: archive.Keep{Messages: 1}, Interval: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&w.out, nil)), Registerer: registry,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running errgroup.Group
	running.Go(func() error { return trimmer.Run(ctx) })
	wait.Until(t, func() bool { return metric(t, registry, "payfold_log_trim_failures_total") >= 3 }, "it has tried three times")
	require.Equal(t, 1, strings.Count(w.logged(), "the log is not trimmed"))
	log.keeps.Store(false)
	wait.Until(t, func() bool { return log.first.Load() > 0 }, "it trims after all")
	cancel()
	require.NoError(t, running.Wait())
}

func TestHowMuchIsKeptIsANumberOrATime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]archive.Keep{
		"1": {Messages: 1}, "1000000": {Messages: 1_000_000}, "720h": {Age: 720 * time.Hour}, "1h30m": {Age: 90 * time.Minute},
	} {
		keep, err := archive.ParseKeep(text)
		require.NoError(t, err)
		require.Equal(t, want, keep)
		require.False(t, keep.All())
	}
	for _, text := range []string{"", "0", "-5", "0s", "-1h", "30d", "all", "1e6"} {
		_, err := archive.ParseKeep(text)
		require.ErrorContains(t, err, "720h", text)
	}
	require.True(t, archive.Keep{}.All())
}

// A segment that was replaced by a shorter one of the same name holds less than was listed.
func TestASegmentThatIsAnotherOneNowIsNotTakenForProof(t *testing.T) {
	t.Parallel()
	w, log := trimmed(t, 30)
	short := archivedBeside(t, w)
	trimmer := w.trimmer(t, log, archive.Keep{Messages: 1 << 62})
	require.NoError(t, trimmer.Step(t.Context())) // opens the archive, releases nothing
	name := filepath.Base(w.files(t)[0])
	before := w.open(t, w.place(t)).Segments()[0]
	content, err := os.ReadFile(filepath.Join(filepath.Dir(short), name))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.files(t)[0], content, 0o600))
	after := w.open(t, w.place(t)).Segments()[0]
	require.Less(t, after.Last, before.Last)
	trimmer.Keep = archive.Keep{Messages: 1}
	err = trimmer.Step(t.Context())
	require.ErrorContains(t, err, "was replaced by another one")
	require.LessOrEqual(t, log.first.Load(), after.Last+1)
}

// archivedBeside archives the same log elsewhere, in shorter segments, and returns the first one.
func archivedBeside(t *testing.T, w *world) string {
	path := w.path
	defer func() { w.path = path }()
	w.path = filepath.Join(t.TempDir(), "other")
	a := w.archiver(w.place(t))
	a.SegmentBytes = 2 << 10
	require.NoError(t, a.Step(t.Context()))
	return w.files(t)[0]
}

// A file of the server can be older than its last message by days. Its segments are read when it is
// removed, however often they were read before.
func TestWhatIsRemovedWasProvenJustBefore(t *testing.T) {
	t.Parallel()
	w, log := trimmed(t, 45)
	log.first.Store(1)
	log.file = 60
	trimmer := w.trimmer(t, log, archive.Keep{Messages: 1})
	require.NoError(t, trimmer.Step(t.Context()))
	require.EqualValues(t, 1, log.first.Load())
	segment := w.files(t)[1]
	info, err := os.Stat(segment)
	require.NoError(t, err)
	damage(t, segment, info.Size()-1500) // in a frame
	w.fill(t, 46, 100)
	require.NoError(t, w.archiver(w.place(t)).Step(t.Context()))
	require.Error(t, trimmer.Step(t.Context()))
	require.EqualValues(t, 1, log.first.Load())
	damage(t, segment, info.Size()-1500) // mended
	require.NoError(t, trimmer.Step(t.Context()))
	require.EqualValues(t, 60, log.first.Load())
}
