package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A block whose first record cannot be read must not make a trim remove what it must keep.
func TestATrimBesideADamagedBlockKeepsTheRest(t *testing.T) {
	t.Parallel()
	s := newTrimmable(t, 0)
	for i := range 400 {
		add(t, s.log, fmt.Sprint("e", i), 300)
	}
	file, err := os.OpenFile(block(s.dir, 3), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte{0xff}, 30)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	_, err = s.log.Trim(t.Context(), 300)
	info := s.info(t)
	require.ErrorContains(t, err, "3.blk cannot be read")
	require.EqualValues(t, 400, info.Last)
	require.LessOrEqual(t, info.ServerFirst, uint64(300))
	require.GreaterOrEqual(t, info.Messages, uint64(101))
}

// delivered waits until the server has delivered a sequence to its only consumer. On a busy machine the server may have
// deleted the consumer, and delivers nothing more.
func (s *sources) delivered(t *testing.T, seq uint64) {
	stream, err := s.log.js.Stream(t.Context(), "PAYMENTS")
	require.NoError(t, err)
	wait.Until(t, func() bool {
		list, consumers, delivered := stream.ListConsumers(t.Context()), 0, uint64(0)
		for c := range list.Info() {
			consumers, delivered = consumers+1, max(delivered, c.Delivered.Stream)
		}
		return delivered >= seq || consumers == 0 && list.Err() == nil
	}, "the server has delivered it")
}

// A reader that is behind by more than one trim begins again in the archive, too.
func TestAReaderDoesNotNoticeTwoTrims(t *testing.T) {
	t.Parallel()
	const messages = 300
	for _, end := range []bool{false, true} {
		s := newTrimmable(t, 0)
		for i := range messages {
			add(t, s.log, fmt.Sprint("e", i), 64<<10)
		}
		l, _ := s.reader(t, s.place)
		l.files = nil
		next := uint64(1)
		enough := errors.New("enough")
		deliver := func(m events.Message) error {
			if m.Seq == 20 {
				archiveInto(t, s.place, s.log, largeSegment)
				_, err := s.log.Trim(t.Context(), 150)
				require.NoError(t, err)
			}
			if m.Seq == 110 {
				s.delivered(t, 151)
				_, err := s.log.Trim(t.Context(), 290)
				require.NoError(t, err)
			}
			require.Equal(t, next, m.Seq)
			if next++; next > messages && !end {
				return enough
			}
			return nil
		}
		read := func() error {
			if end {
				return l.ReadUntil(t.Context(), next, messages, deliver)
			}
			return l.Read(t.Context(), next, func(m events.Message, _ string) error { return deliver(m) })
		}
		err := read()
		for errors.Is(err, ErrDisconnected) { // a busy machine was silent for seconds
			err = read()
		}
		if end {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, enough)
		}
		require.EqualValues(t, messages+1, next)
	}
}

// Nothing is wrong where the last event is older than what is to be kept.
func TestALogWithoutNewEventsIsTrimmed(t *testing.T) {
	t.Parallel()
	s := newTrimmable(t, 0)
	for i := range 400 {
		add(t, s.log, fmt.Sprint("e", i), 300)
	}
	s.archive(t, s.log)
	var mu sync.Mutex
	var out bytes.Buffer
	trimmer := archive.NewTrimmer(archive.TrimConfig{
		Place: s.place, Log: s.log, Keep: archive.Keep{Age: 1}, Interval: time.Millisecond, Registerer: prometheus.NewRegistry(),
		Logger: slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return out.Write(line)
		}), nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running errgroup.Group
	running.Go(func() error { return trimmer.Run(ctx) })
	said := func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
	wait.Until(t, func() bool { return said() != "" }, "it says something")
	cancel()
	require.NoError(t, running.Wait())
	require.NotContains(t, said(), "is not trimmed")
}

// A projector without an archive is told what is missing.
func TestAFollowerWithoutAnArchiveNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newTrimmable(t, 0)
	for i := range 400 {
		add(t, s.log, fmt.Sprint("e", i), 300)
	}
	_, err := s.log.Trim(t.Context(), 300)
	require.NoError(t, err)
	for name, place := range map[string]storage.Place{"none": nil, "empty": &storage.Folder{Root: t.TempDir()}} {
		l, _ := s.reader(t, place)
		err = l.Read(t.Context(), 1, func(_ events.Message, _ string) error { return errors.New("delivered") })
		require.ErrorContains(t, err, "cannot be read", name)
	}
}

// A check of the archive beside a trim does not fail.
func TestACheckOfTheArchiveBesideATrim(t *testing.T) {
	t.Parallel()
	s := newTrimmable(t, 0)
	for i := range 400 {
		add(t, s.log, fmt.Sprint("e", i), 300)
	}
	s.archive(t, s.log)
	files, err := OpenFiles(s.dir, "PAYMENTS")
	require.NoError(t, err)
	defer files.Close()
	report, err := files.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, report.Damage)
	_, err = s.log.Trim(t.Context(), 300)
	require.NoError(t, err)
	out, err := archive.CheckAgainst(t.Context(), s.place, report.LogID, files.Source(report), true)
	require.NoError(t, err)
	require.Empty(t, out.Faults)
}

// Whatever is wrong with a block that is to be removed, deliveries go on.
func TestATrimOfADamagedBlockDoesNotStopDeliveries(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{30, 5000} {
		s := newTrimmable(t, 0)
		for i := range 400 {
			add(t, s.log, fmt.Sprint("e", i), 300)
		}
		s.restart(t)
		file, err := os.OpenFile(block(s.dir, 1), os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = file.WriteAt([]byte{0xff, 0xff, 0xff}, at)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		_, err = s.log.Trim(t.Context(), 300)
		require.NoError(t, err)
		add(t, s.log, "later", 100)
		info := s.info(t)
		require.EqualValues(t, 401, info.Last)
		require.Equal(t, info.Last-info.ServerFirst+1, info.Messages)
		s.restart(t)
		require.EqualValues(t, 401, s.info(t).Last)
	}
}

// A log that does not begin with 1 is trimmed and opened again.
func TestALogThatBeginsLaterIsTrimmed(t *testing.T) {
	t.Parallel()
	config := trimmable
	config.FirstSeq = 1000
	dir := t.TempDir()
	server, l := inSmallBlocksOf(t, dir, config)
	for i := range 400 {
		add(t, l, fmt.Sprint("e", i), 300)
	}
	for _, seq := range []uint64{1010, 1100, 1250, 1399} {
		first, err := l.Trim(t.Context(), seq)
		require.NoError(t, err)
		info := must(l.Info(t.Context()))
		require.Equal(t, []uint64{1000, first, 1399, 1399 - first + 1}, []uint64{info.First, info.ServerFirst, info.Last, info.Messages})
		stop(t, server, l)
		server, l = streamless(t, dir)
		ensure(t, l, config)
		require.Equal(t, info, must(l.Info(t.Context())))
	}
	require.Greater(t, must(l.Info(t.Context())).ServerFirst, uint64(1300))
	stop(t, server, l)
	require.NoError(t, os.Remove(dir+"/log/watermark"))
	server, l = streamless(t, dir)
	ensure(t, l, config)
	stop(t, server, l)
}
