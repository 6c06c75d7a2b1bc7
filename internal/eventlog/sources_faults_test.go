package eventlog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/wait"
)

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
	require.Contains(t, said(), "is another message in the log")
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
