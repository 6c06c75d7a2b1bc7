package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/objectstore"
	"github.com/payfold/payfold/internal/testenv/wait"
)

var trimmable = StreamConfig{Name: "PAYMENTS", Replicas: 1, Partitions: 4, DuplicateWindow: ordinary.DuplicateWindow, Trimmable: true}

// newTrimmable is newSources with a stream of ours that can be trimmed, in small blocks.
func newTrimmable(t *testing.T, messages int) *sources {
	t.Helper()
	s := &sources{dir: t.TempDir(), place: &storage.Folder{Root: t.TempDir()}}
	s.server, s.log = inSmallBlocksOf(t, s.dir, trimmable)
	t.Cleanup(func() { stop(t, s.server, s.log) })
	s.add(t, 1, messages)
	return s
}

func (s *sources) restart(t *testing.T) {
	t.Helper()
	stop(t, s.server, s.log)
	s.server, s.log = streamless(t, s.dir)
	ensure(t, s.log, trimmable)
}

func TestATrimRemovesWholeFilesAndTheServerOpensTheRest(t *testing.T) {
	t.Parallel()
	s := newTrimmable(t, 400)
	want := fromServer(t, s.log, 1, 400)
	last := uint64(0)
	for _, seq := range []uint64{1, 100, 250, 251, 400} {
		first, err := s.log.Trim(t.Context(), seq)
		require.NoError(t, err)
		require.LessOrEqual(t, first, seq)
		require.GreaterOrEqual(t, first, last)
		last = first
		info := s.info(t)
		require.Equal(t, []uint64{1, first, 400, 400 - first + 1}, []uint64{info.First, info.ServerFirst, info.Last, info.Messages})
		require.Equal(t, want[first-1:], fromServer(t, s.log, first, 400))
		require.Equal(t, want[first-1:], must(collectRange(t, inFiles(reader(t, s.dir)), first, 400)), "the files say the same")
		mark := watermark(t, s.dir)
		require.Equal(t, first > 1, mark.First > 0)
		require.Equal(t, first, max(mark.First, 1))
		if first > 1 {
			require.Equal(t, first, firstOf(t, s.dir, mark.FirstBlock))
		}
		s.restart(t)
		require.Equal(t, first, s.info(t).ServerFirst)
		require.Equal(t, want[first-1:], fromServer(t, s.log, first, 400))
	}
	require.Greater(t, last, uint64(300))
	add(t, s.log, "after it", 10)
	require.EqualValues(t, 401, s.info(t).Last)
	_, err := s.log.Trim(t.Context(), 402)
	require.ErrorContains(t, err, "the log ends with seq 401")
}

// largeSegment is for logs of large messages: each segment costs some fsyncs.
const largeSegment = 2 << 20

// A reader gets every message from the archive or from the server, also if it is at the server when
// that removes them.
func TestReadersDoNotNoticeATrim(t *testing.T) {
	t.Parallel()
	const messages = 200 // more than a reader requests in advance
	s := newTrimmable(t, 0)
	for i := range messages {
		add(t, s.log, fmt.Sprint("e", i), 64<<10)
	}
	archiveInto(t, s.place, s.log, largeSegment)
	want := fromServer(t, s.log, 1, messages)
	following, said := s.reader(t, s.place)
	var got []events.Message
	enough := errors.New("enough")
	follow := func() error {
		return following.Read(t.Context(), uint64(len(got)+1), func(m events.Message, _ string) error {
			if m.Seq == 20 {
				_, err := s.log.Trim(t.Context(), messages-10)
				require.NoError(t, err)
			}
			m.Body = m.Digest()
			if got = append(got, m); m.Seq == messages {
				return enough
			}
			return nil
		})
	}
	require.ErrorIs(t, follow(), ErrDisconnected, "so that it reads again from there")
	require.Greater(t, len(got), 19)
	require.Less(t, len(got), messages)
	require.ErrorIs(t, follow(), enough)
	require.Equal(t, want, got)
	require.Greater(t, s.info(t).ServerFirst, uint64(messages-15))

	require.Equal(t, want, all(t, following, 1))
	require.Empty(t, said())
	_, err := collectRange(t, reader(t, s.dir).ReadUntil, 1, messages)
	require.ErrorContains(t, err, "seq 1 to")
	require.ErrorContains(t, err, "cannot be read")
}

// A read that has an end goes on in the archive, if that was away or not complete when it began.
func TestAReadGoesOnInTheArchiveAfterATrim(t *testing.T) {
	t.Parallel()
	const messages = 200 // more than a reader requests in advance
	s := newTrimmable(t, 0)
	for i := range messages {
		add(t, s.log, fmt.Sprint("e", i), 64<<10)
	}
	want := fromServer(t, s.log, 1, messages)
	l, _ := s.reader(t, s.place) // nothing is archived yet
	l.files = nil
	var got []events.Message
	require.NoError(t, l.ReadUntil(t.Context(), 1, messages, func(m events.Message) error {
		if m.Seq == 20 {
			archiveInto(t, s.place, s.log, largeSegment)
			_, err := s.log.Trim(t.Context(), messages-10)
			require.NoError(t, err)
		}
		m.Body = m.Digest()
		got = append(got, m)
		return nil
	}))
	require.Equal(t, want, got)
	require.Greater(t, s.info(t).ServerFirst, uint64(messages-15))
}

func TestOnlyAStreamThatSaysSoIsTrimmed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := inSmallBlocks(t, dir)
	for i := range 100 {
		add(t, l, fmt.Sprint("e", i), 1000)
	}
	_, err := l.Trim(t.Context(), 90)
	require.ErrorContains(t, err, "it keeps every message")
	require.EqualValues(t, 1, must(l.Info(t.Context())).ServerFirst)
	stop(t, s, l)

	dir = t.TempDir()
	s, l = inSmallBlocksOf(t, dir, trimmable)
	defer func() { stop(t, s, l) }()
	for i := range 100 {
		add(t, l, fmt.Sprint("e", i), 1000)
	}
	// Other processes have no right to it.
	r := reader(t, dir)
	stream, err := r.js.Stream(t.Context(), "PAYMENTS")
	require.NoError(t, err)
	require.Error(t, stream.Purge(t.Context(), jetstream.WithPurgeSequence(90)))
	_, err = r.Trim(t.Context(), 90)
	require.Error(t, err)
	require.EqualValues(t, 1, must(l.Info(t.Context())).ServerFirst)
	// They accept the stream, but an ingest that is not to trim does not.
	require.NoError(t, must(r.Info(t.Context())).Unsafe)
	l.whole = true
	require.ErrorContains(t, must(l.Info(t.Context())).Unsafe, "LOG_KEEP")
	require.ErrorContains(t, l.Ready(t.Context()), "LOG_KEEP")
	_, err = l.Append(t.Context(), example(t, "later", 1))
	require.Error(t, err)
	_, err = l.Trim(t.Context(), 90)
	require.ErrorContains(t, err, "LOG_KEEP")
	l.whole = false
}

// An archive of which nothing can be found must not begin again in the middle of a trimmed log.
func TestATrimmedLogNeedsTheArchiveOfItsBeginning(t *testing.T) {
	t.Parallel()
	s := newTrimmable(t, 0)
	for i := range 400 {
		add(t, s.log, fmt.Sprint("e", i), 300)
	}
	s.archive(t, s.log)
	_, err := s.log.Trim(t.Context(), 300)
	require.NoError(t, err)
	status, err := archive.Inspect(t.Context(), s.place, s.log)
	require.NoError(t, err)
	require.Empty(t, status.Faults)
	status, err = archive.Inspect(t.Context(), &storage.Folder{Root: t.TempDir()}, s.log)
	require.NoError(t, err)
	require.Len(t, status.Faults, 1)
	require.Contains(t, status.Faults[0], "were archived before they were removed there")
}

// Readers and a trimmer use an object store like a folder. Where it is away, they say what is missing.
func TestATrimmedLogIsReadFromAnObjectStore(t *testing.T) {
	t.Parallel()
	store := objectstore.New(t)
	place := store.Place(t, "log")
	s := newTrimmable(t, 0)
	for i := range 400 {
		add(t, s.log, fmt.Sprint("e", i), 300)
	}
	want := fromServer(t, s.log, 1, 400)
	archiveInto(t, place, s.log, 8<<10)
	ctx, cancel := context.WithCancel(t.Context())
	trimmer := archive.NewTrimmer(archive.TrimConfig{
		Place: place, Log: s.log, Keep: archive.Keep{Messages: 100}, Interval: time.Millisecond,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	var running errgroup.Group
	running.Go(func() error { return trimmer.Run(ctx) })
	wait.Until(t, func() bool { return s.info(t).ServerFirst > 200 }, "the log is trimmed")
	cancel()
	require.NoError(t, running.Wait())
	require.LessOrEqual(t, s.info(t).ServerFirst, uint64(301))

	l, said := s.reader(t, place)
	require.Equal(t, want, all(t, l, 1))
	require.Empty(t, said())
	store.Misbehave(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusForbidden) })
	l, _ = s.reader(t, place)
	require.Equal(t, want[350:], all(t, l, 351), "the server has them")
	_, err := collectRange(t, l.ReadUntil, 1, 400)
	require.ErrorContains(t, err, "seq 1 to ")
	require.ErrorContains(t, err, "cannot be read")
}

// Readers of one connection look for new segments while others read the ones that they know.
func TestReadersShareWhatIsKnownOfAGrowingArchive(t *testing.T) {
	t.Parallel()
	s := newTrimmable(t, 0)
	l, _ := s.reader(t, s.place)
	var last atomic.Uint64
	grown := make(chan struct{})
	var readers errgroup.Group
	for range 4 {
		readers.Go(func() error {
			for {
				next, until := uint64(1), last.Load()
				err := l.ReadUntil(t.Context(), 1, until, func(m events.Message) error {
					if m.Seq != next {
						return fmt.Errorf("seq %d instead of %d", m.Seq, next)
					}
					next++
					return nil
				})
				select {
				case <-grown:
					return err
				default:
					if err != nil {
						return err
					}
				}
			}
		})
	}
	for round := range 5 {
		for i := range 60 {
			add(t, s.log, fmt.Sprint("e", round, "_", i), 300)
		}
		s.archive(t, s.log)
		last.Store(s.info(t).Last)
	}
	close(grown)
	require.NoError(t, readers.Wait())
}
