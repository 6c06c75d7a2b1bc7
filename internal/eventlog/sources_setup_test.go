package eventlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/archiver"
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
	archiver.RunToEnd(t, archive.Config{Place: place, Source: source, SegmentBytes: segment, FrameBytes: 1 << 10}, nil)
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

// withLongRest returns sources of which many messages are not archived yet, and all messages.
func withLongRest(t *testing.T) (*sources, []events.Message) {
	t.Helper()
	const archived, last = 60, 60 + 2*minBacklog
	s := newSources(t, archived)
	s.archive(t, s.log)
	s.add(t, archived+1, last)
	return s, fromServer(t, s.log, 1, last)
}

func remove(t *testing.T, paths []string) {
	t.Helper()
	for _, path := range paths {
		require.NoError(t, os.Remove(path))
	}
}
