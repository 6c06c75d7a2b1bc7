package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// While a write to the log's disk hangs, the server does not answer questions about its
// health either.
func TestAnAppendEndsInTimeWhereTheServerDoesNotTellItsHealth(t *testing.T) {
	t.Parallel()
	s, l, release := unflushed(t)
	var questions atomic.Int32
	answer := make(chan error)
	s.health = func() error {
		questions.Add(1)
		select {
		case reason := <-answer:
			return reason
		case <-time.After(10 * time.Second):
			return errors.New("the appends waited for this")
		}
	}
	var group errgroup.Group
	for i := range 20 {
		group.Go(func() error {
			err := appendBriefly(t, l, fmt.Sprint("e", i))
			if !errors.Is(err, errNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("append %d: %w", i, err)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, questions.Load(), "all share one question")
	require.NoError(t, l.committer.failure())

	answer <- errDiskFull // long after those who asked have gone
	<-l.committer.broken
	require.ErrorIs(t, l.committer.failure(), errDiskFull)
	close(release)
	stop(t, s, l)
	require.False(t, watermark(t, s.config.DataDir).Closed, "the next start writes the end of the log again")
}

func TestAServerIsAskedForItsHealthAgainAfterItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		var questions atomic.Int32
		s := &Server{health: func() error { questions.Add(1); return nil }}
		l := &Log{server: s}
		for i := range 3 {
			require.Equal(t, context.DeadlineExceeded, l.timedOut(context.DeadlineExceeded), "it has answered, and it stores messages")
			require.EqualValues(t, i+1, questions.Load())
			synctest.Wait()
		}
		s.health = func() error { questions.Add(1); <-late; return nil }
		for range 3 {
			began := time.Now()
			require.ErrorIs(t, l.timedOut(context.DeadlineExceeded), errNoAnswer)
			require.Equal(t, healthTimeout, time.Since(began))
			require.EqualValues(t, 4, questions.Load(), "the same question")
		}
		close(late)
		synctest.Wait()
		require.Equal(t, context.DeadlineExceeded, l.timedOut(context.DeadlineExceeded))
		require.EqualValues(t, 5, questions.Load())
	})
}

// The server does so when it may not write into its folders. It does not begin again when it may, and it
// answers no question about the stream.
func TestAServerThatHasStoppedStoringByItselfEndsIngest(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	add(t, l, "before", 10)
	require.NoError(t, s.nats.ShutdownJetStream())
	ended := make(chan error, 1)
	go func() { ended <- NewWatch(l, slog.New(slog.DiscardHandler), prometheus.NewRegistry()).Run(t.Context()) }()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "the log cannot store any more: JetStream not enabled")
	case <-time.After(wait.Timeout):
		t.Fatal("ingest goes on, and refuses every delivery for ever")
	}
	stop(t, s, l)
}

// The server allows itself a millisecond to find that it has started. On a busy machine that is too short at times, and
// must not end ingest. A server that was not started gives the same answer.
func TestAServerOnABusyMachineStillStores(t *testing.T) {
	t.Parallel()
	waiting, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true})
	require.NoError(t, err)
	require.Contains(t, waiting.Healthz(nil).Error, "failed to be ready for connections after 1ms")
	require.NoError(t, (&Server{nats: waiting}).healthz())
}

var errDiskFull = errors.New("no space left on device")

// unflushed returns a log that confirms nothing until release is closed.
func unflushed(t *testing.T) (s *Server, l *Log, release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	var hangs atomic.Bool
	s, err := StartEmbedded(t.Context(), EmbeddedConfig{
		DataDir: t.TempDir(), Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler),
		SyncBlock: func(*os.File) error {
			if hangs.Load() {
				<-release
			}
			return nil
		},
	})
	require.NoError(t, err)
	l, err = s.Connect()
	require.NoError(t, err)
	ensure(t, l, ordinary)
	add(t, l, "before", 10) // the stream's settings are known from now on
	hangs.Store(true)
	return s, l, release
}

// appendBriefly appends a delivery whose time is over at once.
func appendBriefly(t *testing.T, l *Log, id string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := l.Append(ctx, example(t, id, 10))
	return err
}
