package eventlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// sources is a log and its archive. Unlike a log of payfold, its server can be told to forget
// messages.
type sources struct {
	dir    string
	server *Server
	log    *Log // of the server's process
	stream jetstream.Stream
	place  *storage.Folder
}

// newSources returns a log with that many messages and no archive yet.
func newSources(t *testing.T, messages int) *sources {
	t.Helper()
	s := &sources{dir: t.TempDir(), place: &storage.Folder{Root: filepath.Join(t.TempDir(), "archive")}}
	s.server, s.log = streamless(t, s.dir)
	t.Cleanup(func() { stop(t, s.server, s.log) })
	config := ordinary.jetstream()
	config.DenyPurge = false
	var err error
	s.stream, err = s.log.js.CreateStream(t.Context(), config)
	require.NoError(t, err)
	s.add(t, 1, messages)
	return s
}

// add appends messages, numbered as given. Ingest would confirm nothing to such a stream.
func (s *sources) add(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		foreign(t, s.log, map[string][]string{"Nats-Msg-Id": {fmt.Sprint("e", i)}, "Other": {fmt.Sprint(i), "second"}}, strings.Repeat("x", i*37%900))
	}
}

// forget removes all messages before seq from the server.
func (s *sources) forget(t *testing.T, seq uint64) {
	t.Helper()
	require.NoError(t, s.stream.Purge(t.Context(), jetstream.WithPurgeSequence(seq)))
}

func (s *sources) info(t *testing.T) Info {
	t.Helper()
	info, err := s.log.Info(t.Context())
	require.NoError(t, err)
	return info
}

// altered is a log whose archive is another one's.
type altered struct {
	*Log
	head   func(*archive.Head)
	record func(*archive.Record)
}

func (a altered) Head(ctx context.Context) (archive.Head, error) {
	head, err := a.Log.Head(ctx)
	if a.head != nil {
		a.head(&head)
	}
	return head, err
}

func (a altered) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return a.Log.ReadRecords(ctx, from, until, func(r archive.Record) error {
		if a.record != nil {
			a.record(&r)
		}
		return deliver(r)
	})
}

// archive archives everything, about two messages in a frame and ten in a segment.
func (s *sources) archive(t *testing.T, source archive.Source) {
	t.Helper()
	archiveInto(t, s.place, source, 8<<10)
}

// archiveInto archives everything in segments of so many bytes.
func archiveInto(t *testing.T, place storage.Place, source archive.Source, segment int64) {
	t.Helper()
	head, err := source.Head(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	archiver := archive.NewArchiver(archive.Config{
		Place: place, Source: source, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		SegmentBytes: segment, FrameBytes: 1 << 10, PollInterval: time.Millisecond, MinWait: time.Millisecond,
	})
	var running errgroup.Group
	running.Go(func() error { return archiver.Run(ctx) })
	wait.Until(t, func() bool {
		opened, err := archive.Open(t.Context(), place, head.LogID)
		return err == nil && opened.Last() == head.Last
	}, "the archive holds the log")
	cancel()
	require.NoError(t, running.Wait())
}

// segments are the paths of the segments, in order.
func (s *sources) segments(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.place.Root, "*", "*.seg"))
	require.NoError(t, err)
	return paths
}

// reader connects as another process that reads this archive. said returns what it warns of.
func (s *sources) reader(t *testing.T, place storage.Place) (l *Log, said func() string) {
	t.Helper()
	var mu sync.Mutex
	var out bytes.Buffer
	l = reader(t, s.dir)
	l.archive = newArchived(place, slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return out.Write(line)
	}), nil)))
	return l, func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

// all returns the messages from sequence from to the end.
func all(t *testing.T, l *Log, from uint64) []events.Message {
	t.Helper()
	info, err := l.Info(t.Context())
	require.NoError(t, err)
	out, err := collectRange(t, l.ReadUntil, from, info.Last)
	require.NoError(t, err)
	return out
}

func TestWhatTheServerNoLongerHasIsReadFromTheArchive(t *testing.T) {
	t.Parallel()
	s := newSources(t, 100)
	s.archive(t, s.log)
	s.add(t, 101, 130)
	want := fromServer(t, s.log, 1, 130)
	records := func(l *Log) (out []archive.Record) {
		require.NoError(t, l.ReadRecords(t.Context(), 1, 130, func(r archive.Record) error {
			r.Body = bytes.Clone(r.Body)
			out = append(out, r)
			return nil
		}))
		return out
	}
	wantRecords := records(s.log)
	l, said := s.reader(t, s.place)
	for _, first := range []uint64{1, 40, 90, 101} {
		s.forget(t, first)
		info, err := l.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, []uint64{1, first, 130}, []uint64{info.First, info.ServerFirst, info.Last})
		require.Equal(t, want, all(t, l, 1))
		require.Equal(t, want[70:95], must(collectRange(t, l.ReadUntil, 71, 95)))
		require.Equal(t, wantRecords, records(l))
		for _, seq := range []uint64{1, 89, 100, 130} {
			m, err := l.Message(t.Context(), seq)
			require.NoError(t, err)
			m.Body = m.Digest()
			require.Equal(t, want[seq-1], m)
		}
		seq, err := l.StoredBy(t.Context(), info, want[4].StoredAt)
		require.NoError(t, err)
		require.GreaterOrEqual(t, seq, uint64(5))
		var followed []events.Message
		enough := errors.New("enough")
		require.ErrorIs(t, l.Read(t.Context(), 3, func(m events.Message, _ string) error {
			m.Body = m.Digest()
			if followed = append(followed, m); m.Seq == 130 {
				return enough
			}
			return nil
		}), enough)
		require.Equal(t, want[2:], followed)
	}
	require.Empty(t, said())
	s.forget(t, 111)
	_, err := collectRange(t, l.ReadUntil, 1, 130)
	require.ErrorContains(t, err, "seq 101 to 110 cannot be read: the log's server has only those from seq 111 on")
	_, err = l.Message(t.Context(), 105)
	require.ErrorContains(t, err, "seq 105 to 105 cannot be read")
	_, err = collectRange(t, reader(t, s.dir).ReadUntil, 1, 130)
	require.ErrorContains(t, err, "seq 1 to 110 cannot be read")
}

// What is above or below a damaged end is still read from the archive.
func TestAnArchiveWithADamagedEndIsRead(t *testing.T) {
	t.Parallel()
	s := newSources(t, 60)
	s.archive(t, s.log)
	want := fromServer(t, s.log, 1, 60)
	segments := s.segments(t)
	edit(t, segments[len(segments)-1], func(b []byte) []byte {
		footer := int(binary.LittleEndian.Uint32(b[len(b)-12:])) // its length
		b[len(b)-footer-5] ^= 1                                  // in the newest frame
		return b
	})
	s.forget(t, 40)
	l, said := s.reader(t, s.place)
	require.Equal(t, want[:39], must(collectRange(t, l.ReadUntil, 1, 39)))
	require.Empty(t, said())
}

// A reader may have been told of an archive before anything is in it.
func TestAnEmptyArchiveIsNoArchive(t *testing.T) {
	t.Parallel()
	s := newSources(t, 5)
	l, said := s.reader(t, s.place)
	require.Equal(t, fromServer(t, s.log, 1, 5), all(t, l, 1))
	require.Empty(t, said())
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// damageHeader damages the length of the first header, as in TestADamagedHeaderLengthEndsTheRead.
func damageHeader(b []byte) []byte {
	b[22+int(binary.LittleEndian.Uint16(b[20:]))] ^= 1
	return b
}

// damagedFiles returns a copy of the server's files with a damaged first block.
func (s *sources) damagedFiles(t *testing.T, damage func([]byte) []byte) *blockstore.Store {
	t.Helper()
	copied := aside(t, s.dir)
	edit(t, block(copied, 1), damage)
	return filesIn(copied)
}

// The server's files need not be readable where there is an archive.
func TestWithAnArchiveTheServersFilesAreNotRead(t *testing.T) {
	t.Parallel()
	s := newSources(t, 60)
	s.archive(t, s.log)
	s.add(t, 61, 70)
	want := fromServer(t, s.log, 1, 70)
	l, said := s.reader(t, s.place)
	l.files = s.damagedFiles(t, damageHeader)
	require.Equal(t, want, all(t, l, 1))
	require.Empty(t, said())
	l.archive = nil
	_, err := collectRange(t, l.ReadUntil, 1, 70)
	require.ErrorIs(t, err, blockstore.ErrDamaged)
}

// withLongRest returns sources of which many messages are not archived yet, and all messages.
func withLongRest(t *testing.T) (*sources, []events.Message) {
	t.Helper()
	const archived, last = 60, 60 + 2*minBacklog
	s := newSources(t, archived)
	s.archive(t, s.log)
	s.add(t, archived+1, last)
	return s, fromServer(t, s.log, 1, last)
}

// Many messages that are not archived yet cost the server nothing.
func TestALongRestIsReadFromTheFiles(t *testing.T) {
	t.Parallel()
	s, want := withLongRest(t)
	l, said := s.reader(t, s.place)
	read := func() (fromServer uint64) {
		before := l.conn.Stats().InBytes
		require.Equal(t, want, all(t, l, 1))
		return l.conn.Stats().InBytes - before
	}
	whole := read()
	l.files = s.damagedFiles(t, func(b []byte) []byte { b[len(b)-len(b)/4] ^= 4; return b })
	require.Greater(t, read(), 4*whole)
	require.Empty(t, said())
}

// The files of a rest may begin with messages that the archive has, whose damage is of no matter.
func TestDamageBeforeALongRestIsNotRead(t *testing.T) {
	t.Parallel()
	s, want := withLongRest(t)
	l, said := s.reader(t, s.place)
	l.files = s.damagedFiles(t, damageHeader)
	require.Equal(t, want, all(t, l, 1))
	require.Empty(t, said())
}

func TestDamageOfTheArchiveIsReadAround(t *testing.T) {
	t.Parallel()
	s := newSources(t, 150)
	s.archive(t, s.log)
	s.add(t, 151, 160)
	want := fromServer(t, s.log, 1, 160)
	whole := s.place.Root
	require.Greater(t, len(s.segments(t)), 6)
	for name, spoil := range map[string]func(segments []string){
		"a bit of a frame":     func(segments []string) { edit(t, segments[2], func(b []byte) []byte { b[len(b)/3] ^= 1; return b }) },
		"a bit of the footer":  func(segments []string) { edit(t, segments[3], func(b []byte) []byte { b[len(b)-60] ^= 1; return b }) },
		"the end of a segment": func(segments []string) { edit(t, segments[2], func(b []byte) []byte { return b[:len(b)-20] }) },
		"a segment":            func(segments []string) { require.NoError(t, os.Remove(segments[3])) },
		"the first segment":    func(segments []string) { require.NoError(t, os.Remove(segments[0])) },
		"the newest frame": func(segments []string) {
			edit(t, segments[len(segments)-1], func(b []byte) []byte { b[200] ^= 1; return b })
		},
		"all but the first one": func(segments []string) { remove(t, segments[1:]) },
		"a segment and a frame": func(segments []string) {
			remove(t, segments[1:2])
			edit(t, segments[4], func(b []byte) []byte { b[250] ^= 1; return b })
		},
		"a segment of no length": func(segments []string) { edit(t, segments[2], func([]byte) []byte { return nil }) },
	} {
		s.place = &storage.Folder{Root: t.TempDir()}
		require.NoError(t, os.CopyFS(s.place.Root, os.DirFS(whole)))
		l, said := s.reader(t, s.place)
		l.files = nil
		require.Equal(t, want, all(t, l, 1), name)
		require.Empty(t, said(), name)
		spoil(s.segments(t))
		l, said = s.reader(t, s.place)
		l.files = nil
		require.Equal(t, want, all(t, l, 1), name)
		if name != "all but the first one" {
			require.Contains(t, said(), "the archive cannot be read; the log's server is asked instead", name)
		}
		lines := strings.Count(said(), "\n")
		require.LessOrEqual(t, lines, 2, said())
		require.Equal(t, want, all(t, l, 1), name)
		if lines == 1 {
			require.Equal(t, 1, strings.Count(said(), "\n"), "it is said once")
		}
	}
	s.requireReadBehindDamage(t, whole, want)

	// The damage is fatal only if the server does not have the messages either. What lies behind
	// it is still read.
	s.place = &storage.Folder{Root: whole}
	segments := s.segments(t)
	edit(t, segments[2], func(b []byte) []byte { b[len(b)/3] ^= 1; return b })
	s.forget(t, 100)
	l, _ := s.reader(t, s.place)
	first := uint64(0)
	_, err := collectRange(t, l.ReadUntil, 1, 160)
	require.ErrorContains(t, err, "cannot be read: the log's server has only those from seq 100 on")
	damaged := new(archive.DamagedError)
	require.ErrorAs(t, err, &damaged)
	require.ErrorContains(t, err, fmt.Sprintf("seq %d to %d", damaged.From, damaged.To))
	first = damaged.To + 1
	require.Equal(t, want[first-1:], all(t, l, first))
}

// requireReadBehindDamage: the server delivers no more than what is damaged.
func (s *sources) requireReadBehindDamage(t *testing.T, whole string, want []events.Message) {
	t.Helper()
	s.place = &storage.Folder{Root: t.TempDir()}
	require.NoError(t, os.CopyFS(s.place.Root, os.DirFS(whole)))
	segments := s.segments(t)
	edit(t, segments[2], func(b []byte) []byte { b[len(b)/3] ^= 1; return b })
	place := &faulty{Place: s.place, left: 1_000_000}
	l, _ := s.reader(t, place)
	require.Equal(t, want, all(t, l, 1)) // opens every segment
	place.opened = nil
	require.Equal(t, want, all(t, l, 1))
	require.Subset(t, place.opened, []string{filepath.Base(segments[2]), filepath.Base(segments[4]), filepath.Base(segments[5])})
}

func remove(t *testing.T, paths []string) {
	t.Helper()
	for _, path := range paths {
		require.NoError(t, os.Remove(path))
	}
}

// What the archive says must be what the log says.
func TestAnArchiveThatIsNotThatOfTheLogIsNotRead(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]altered{
		"another message":    {record: func(r *archive.Record) { r.Body = append([]byte("y"), r.Body...) }},
		"another partition":  {record: func(r *archive.Record) { r.Partition++ }},
		"more partitions":    {head: func(h *archive.Head) { h.Partitions++ }},
		"another log":        {head: func(h *archive.Head) { h.LogID = "another" }},
		"only other headers": {record: func(r *archive.Record) { r.Header = nil }},
	} {
		s := newSources(t, 50)
		other.Log = s.log
		s.archive(t, other)
		l, said := s.reader(t, s.place)
		require.Equal(t, fromServer(t, s.log, 1, 50), all(t, l, 1), name)
		require.Contains(t, said(), "the archive cannot be read", name)
		require.Equal(t, 1, strings.Count(said(), "\n"), "it is said once")
		s.forget(t, 10)
		_, err := collectRange(t, l.ReadUntil, 1, 50)
		require.ErrorContains(t, err, "seq 1 to 9 cannot be read", name)
	}
}

// A folder with the log's id that holds the segments of another log.
func TestSegmentsThatNameAnotherLogAreNotRead(t *testing.T) {
	t.Parallel()
	s := newSources(t, 50)
	s.archive(t, altered{Log: s.log, head: func(h *archive.Head) { h.LogID = "another" }})
	require.NoError(t, os.Rename(filepath.Join(s.place.Root, "another"), filepath.Join(s.place.Root, s.info(t).LogID)))
	l, said := s.reader(t, s.place)
	require.Equal(t, fromServer(t, s.log, 1, 50), all(t, l, 1))
	require.Contains(t, said(), "is of log another")
}

// A backup of the log was restored: the archive has more. That is of use until the log goes
// another way.
func TestAnArchiveMayBeAheadOfTheLog(t *testing.T) {
	t.Parallel()
	s := newSources(t, 60)
	backup := aside(t, s.dir)
	s.add(t, 61, 100)
	s.archive(t, s.log)
	want := fromServer(t, s.log, 1, 60)

	stop(t, s.server, s.log)
	s.dir = backup
	s.server, s.log = streamless(t, backup)
	ensure(t, s.log, ordinary)
	var err error
	s.stream, err = s.log.js.Stream(t.Context(), ordinary.Name)
	require.NoError(t, err)
	l, said := s.reader(t, s.place)
	s.forget(t, 60)
	require.Equal(t, want, all(t, l, 1))
	require.Empty(t, said())
	s.add(t, 1061, 1070)
	_, err = collectRange(t, l.ReadUntil, 1, 70)
	require.ErrorContains(t, err, "seq 1 to 59 cannot be read")
	require.Contains(t, said(), "seq 70 is another message there")
}

func TestAnArchiveThatVanishesWhileItIsReadIsReplacedByTheServer(t *testing.T) {
	t.Parallel()
	s := newSources(t, 150)
	s.archive(t, s.log)
	want := fromServer(t, s.log, 1, 150)
	l, said := s.reader(t, s.place)
	var got []events.Message
	require.NoError(t, l.ReadUntil(t.Context(), 1, 150, func(m events.Message) error {
		if m.Seq == 30 {
			require.NoError(t, os.RemoveAll(s.place.Root))
		}
		m.Body = m.Digest()
		got = append(got, m)
		return nil
	}))
	require.Equal(t, want, got)
	require.Equal(t, 1, strings.Count(said(), "\n"), said())
	require.Equal(t, want, all(t, l, 1))
}

// faulty is a place that answers as it is told, from its n-th question on.
type faulty struct {
	storage.Place
	mu     sync.Mutex
	left   int // questions that are answered
	answer func() error
	opened []string
}

func (f *faulty) fault() error {
	f.mu.Lock()
	f.left--
	over := f.left < 0
	f.mu.Unlock()
	if over {
		return f.answer()
	}
	return nil
}

func (f *faulty) List(ctx context.Context, folder string) ([]string, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	return f.Place.List(ctx, folder)
}

func (f *faulty) Open(ctx context.Context, name string) (storage.Object, error) {
	f.mu.Lock()
	f.opened = append(f.opened, filepath.Base(name))
	f.mu.Unlock()
	if err := f.fault(); err != nil {
		return nil, err
	}
	object, err := f.Place.Open(ctx, name)
	return faultyObject{object, f}, err
}

type faultyObject struct {
	storage.Object
	place *faulty
}

func (o faultyObject) ReadAt(data []byte, offset int64) (int, error) {
	if err := o.place.fault(); err != nil {
		return 0, err
	}
	return o.Object.ReadAt(data, offset)
}

func TestAStoreThatFailsOrDoesNotAnswerIsReplacedByTheServer(t *testing.T) {
	t.Parallel()
	s := newSources(t, 120)
	s.archive(t, s.log)
	want := fromServer(t, s.log, 1, 120)
	released := make(chan struct{})
	defer close(released)
	answers := map[string]func() error{
		"permission denied": func() error { return fs.ErrPermission },
		"no answer":         func() error { <-released; return errors.New("too late") },
	}
	const many = 1_000
	counting := &faulty{Place: s.place, left: many}
	l, _ := s.reader(t, counting)
	require.Equal(t, want, all(t, l, 1))
	asked := many - counting.left
	for name, answer := range answers {
		for _, answered := range []int{0, 1, 2, asked / 2, asked - 8, asked - 1} {
			place := &faulty{Place: s.place, left: answered, answer: answer}
			l, said := s.reader(t, place)
			l.archive.place = storage.Bounded(place, 100*time.Millisecond)
			require.Equal(t, want, all(t, l, 1), name)
			require.Equal(t, 1, strings.Count(said(), "\n"), "%s after %d: %s", name, answered, said())
		}
	}
}

// A reader that runs for long sees what is archived later, and what was merged.
func TestReadersSeeTheArchiveGrow(t *testing.T) {
	t.Parallel()
	s := newSources(t, 1)
	s.archive(t, s.log)
	l, said := s.reader(t, s.place)
	var want []events.Message
	for to := 40; to <= 160; to += 40 {
		s.add(t, len(want)+2-min(1, len(want)), to)
		last := s.info(t).Last
		want = append(want, fromServer(t, s.log, uint64(len(want))+1, last)...)
		s.archive(t, s.log)
		s.forget(t, last+1)
		var readers errgroup.Group
		for range 4 {
			readers.Go(func() error {
				got, err := collectRange(t, l.ReadUntil, 1, last)
				if err == nil && len(got) != len(want) {
					err = fmt.Errorf("%d messages of %d", len(got), len(want))
				}
				return err
			})
		}
		require.NoError(t, readers.Wait())
		require.Equal(t, want, all(t, l, 1))
	}
	require.Empty(t, said())
}

func TestAReadOfTheArchiveReturnsWhyItEnded(t *testing.T) {
	t.Parallel()
	s := newSources(t, 50)
	s.archive(t, s.log)
	l, said := s.reader(t, s.place)
	errMine := errors.New("mine")
	delivered := 0
	require.ErrorIs(t, l.ReadUntil(t.Context(), 1, 50, func(events.Message) error {
		if delivered++; delivered == 7 {
			return errMine
		}
		return nil
	}), errMine)
	require.Equal(t, 7, delivered)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := l.ReadUntil(ctx, 1, 50, func(events.Message) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrDisconnected)
	require.NoError(t, l.ReadUntil(t.Context(), 3, 2, func(events.Message) error { return errMine }))
	s.add(t, 51, 51) // it is not archived
	err = l.ReadUntil(t.Context(), 1, 51, func(m events.Message) error {
		if m.Seq == 5 {
			stop(t, s.server, s.log)
			wait.Until(t, func() bool { return !l.conn.IsConnected() })
		}
		return nil
	})
	require.ErrorIs(t, err, ErrDisconnected)
	require.Empty(t, said())
	s.server, s.log = streamless(t, s.dir)
}
