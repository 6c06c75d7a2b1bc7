package eventlog

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// scrubbing is a scrubber that runs again and again, and what it says.
type scrubbing struct {
	*Scrubber
	registry *prometheus.Registry
	stop     func()
	said     wait.Buffer
}

func (s *scrubbing) metric(t *testing.T, name string) float64 {
	t.Helper()
	return metrics.Value(t, s.registry, name)
}

func scrub(t *testing.T, l *Log) *scrubbing {
	t.Helper()
	s := &scrubbing{registry: prometheus.NewRegistry()}
	s.Scrubber = NewScrubber(ScrubConfig{
		Log: l, Interval: time.Microsecond, Rate: 1 << 40, Logger: slog.New(slog.NewTextHandler(&s.said, nil)), Registerer: s.registry,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-ended) })
	t.Cleanup(s.stop)
	return s
}

// awaitScrub returns when a scrub that began after the call has ended.
func (s *scrubbing) awaitScrub(t *testing.T) {
	t.Helper()
	const name = "payfold_log_scrub_timestamp_seconds payfold"
	for range 2 {
		before := s.metric(t, name)
		wait.Until(t, func() bool { return s.metric(t, name) > before }, "no scrub ends")
	}
}

func (s *scrubbing) awaitDamage(t *testing.T, places float64) {
	t.Helper()
	wait.Until(t, func() bool { return s.metric(t, "payfold_log_scrub_damage payfold") == places }, "%v damaged places are not found", places)
}

// flip changes one bit of a file in its place.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	one := make([]byte, 1)
	_, err = file.ReadAt(one, at)
	require.NoError(t, err)
	one[0] ^= 4
	_, err = file.WriteAt(one, at)
	require.NoError(t, err)
}

// The server reads no old block by itself. When it reads one in which the length of a record has changed, it cuts off
// the rest of the block. So a scrub must not make it read.
func TestAFlippedBitIsNamedAndTheServerDoesNotReadIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, l := inSmallBlocks(t, dir)
	t.Cleanup(func() { stop(t, server, l) })
	for i := range 200 {
		add(t, l, fmt.Sprint("e", i), 1000)
	}
	s := scrub(t, l)
	s.awaitScrub(t)
	require.Zero(t, s.metric(t, "payfold_log_scrub_damage payfold"))

	path := block(dir, 2)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	second := int64(binary.LittleEndian.Uint32(content) &^ (1 << 31)) // where the second record begins
	for name, at := range map[string]int64{
		"length": second + 1, "sequence": second + 4, "time": second + 12, "subject": second + 24, "body": second + 800, "checksum": 2*second - 1,
	} {
		flip(t, path, at)
		s.awaitDamage(t, 1)
		wait.Until(t, func() bool {
			return strings.Contains(s.said.String(), fmt.Sprintf("2.blk at byte %d: seq %d: ", second, firstOf(t, dir, 2)+1))
		}, "%s: %s", name, s.said.String())
		require.Len(t, s.Damage(), 1)
		require.Contains(t, s.said.String(), s.Damage()[0])
		add(t, l, "beside "+name, 1000)
		info, err := l.Info(t.Context())
		require.NoError(t, err)
		require.NoError(t, info.Unsafe, "deliveries go on")
		flip(t, path, at)
		s.awaitDamage(t, 0)
		require.Empty(t, s.Damage())
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, now, "nothing is written")
	}
}

// The state of ingest is asked for with a bound, and is about more than damage.
func TestOfMuchDamageTheFirstPlacesAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, l := inSmallBlocks(t, dir)
	t.Cleanup(func() { stop(t, server, l) })
	for i := range 60 {
		add(t, l, fmt.Sprint("e", i), 1000)
	}
	content, err := os.ReadFile(block(dir, 1))
	require.NoError(t, err)
	const places = 7 // every second record
	at := 0
	for n := range 2 * places {
		size := int(binary.LittleEndian.Uint32(content[at:]) &^ (1 << 31))
		if n%2 == 1 {
			flip(t, block(dir, 1), int64(at+size/2))
		}
		at += size
	}
	s := scrub(t, l)
	s.awaitDamage(t, places)
	s.stop()
	require.Len(t, s.Damage(), 6)
	require.Contains(t, s.Damage()[4], "seq 10: ")
	require.Equal(t, "and 2 more; ingest check names all", s.Damage()[5])
}

// While messages are appended and trimmed, and the server restarts, nothing looks like damage.
func TestAWholeLogIsNeverCalledDamaged(t *testing.T) {
	t.Parallel()
	log := newTrimmable(t, 0)
	const rounds, messages = 12, 60 // about two blocks a round
	for round := range rounds {
		s := scrub(t, log.log)
		for i := range messages {
			add(t, log.log, fmt.Sprintf("e%d_%d", round, i), 1000)
			if i%20 == 0 && round > 1 {
				_, err := log.log.Trim(t.Context(), uint64((round-1)*messages+i))
				require.NoError(t, err)
			}
		}
		s.awaitScrub(t)
		s.stop()
		require.Empty(t, s.said.String())
		require.Zero(t, s.metric(t, "payfold_log_scrub_damage payfold"))
		if round == rounds-3 {
			require.Greater(t, log.info(t).ServerFirst, uint64((rounds-5)*messages))
			log.restart(t) // its next blocks are large
		}
	}
}

func TestAScrubEndsAtOnceWhenItIsStopped(t *testing.T) {
	t.Parallel()
	server, l := inSmallBlocks(t, t.TempDir())
	t.Cleanup(func() { stop(t, server, l) })
	for i := range 100 {
		add(t, l, fmt.Sprint("e", i), 1000)
	}
	registry := prometheus.NewRegistry()
	slow := NewScrubber(ScrubConfig{Log: l, Rate: 1, Logger: slog.New(slog.DiscardHandler), Registerer: registry})
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, slow.limiter.WaitN(ctx, scrubBurst)) // what it may read at once
	ended := make(chan bool)
	go func() { ended <- slow.scrubFiles(ctx) }()
	cancel()
	require.False(t, <-ended)
}
