package testenv

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// Stream is the name of the stream in tests.
const Stream = "PAYMENTS"

// Log is an embedded log in a directory of its own, with a connection that may write.
type Log struct {
	*eventlog.Log
	Dir    string
	server *eventlog.Server
}

// NewLog starts an embedded log.
func NewLog(t testing.TB, partitions int) *Log {
	t.Helper()
	l := &Log{Dir: t.TempDir()}
	l.Start(t, partitions)
	t.Cleanup(func() { l.Stop(t) })
	return l
}

// Start starts the server with the files in Dir.
func (l *Log) Start(t testing.TB, partitions int) {
	t.Helper()
	logger := Logger(t)
	var err error
	l.server, err = eventlog.StartEmbedded(context.Background(), eventlog.EmbeddedConfig{
		DataDir: l.Dir, Stream: Stream, Logger: logger,
	})
	require.NoError(t, err)
	l.Log, err = l.server.Connect()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	require.NoError(t, l.EnsureStream(ctx, eventlog.StreamConfig{
		Name: Stream, Replicas: 1, Partitions: partitions, DuplicateWindow: time.Minute,
	}, logger))
}

// Stop ends the server. The files stay.
func (l *Log) Stop(t testing.TB) {
	t.Helper()
	if l.server == nil {
		return
	}
	l.Log.Close()
	require.NoError(t, l.server.Close())
	l.server = nil
}

// Reader connects as another process of this machine does. The connection can only read.
func (l *Log) Reader(t testing.TB) *eventlog.Log {
	t.Helper()
	reader, err := eventlog.Connect(eventlog.Config{DataDir: l.Dir, Stream: Stream, Logger: Logger(t)})
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	return reader
}

// Deliver appends bodies, as ingest does after verifying them.
func (l *Log) Deliver(t testing.TB, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		require.NoError(t, Append(context.Background(), l.Log, Delivery(t, body)))
	}
}

// Delivery returns a delivery of a body by the default provider, without a signature.
func Delivery(t testing.TB, body string) events.Delivery {
	t.Helper()
	event, err := specification.Parse([]byte(body))
	require.NoError(t, err)
	return events.Delivery{Event: event, Body: []byte(body), Provider: event.Provider, ReceivedAt: time.Now()}
}

// Append appends a delivery, and repeats that until the log confirms it, as a provider does. On a busy
// machine the log may be late with an answer; a repetition adds nothing. Append returns the last error when
// ctx or wait.Timeout has ended.
func Append(ctx context.Context, log *eventlog.Log, delivery events.Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, wait.Timeout)
	defer cancel()
	for pause := backoff.Every(retryPause); ; {
		_, err := log.Append(ctx, delivery)
		if err == nil || pause.Wait(ctx) != nil {
			return err
		}
	}
}

// fillers is how many goroutines append, so that they share flushes.
const fillers = 64

// Fill appends the bodies that event returns for 0 to count-1, signed with secret. Their
// order in the log can differ a little. event is called concurrently.
func (l *Log) Fill(t testing.TB, event func(i int) string, count int, secret string) {
	t.Helper()
	signer := specification.NewSecret(secret)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(context.Background())
	for range fillers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				body := []byte(event(i))
				parsed, err := specification.Parse(body)
				if err != nil {
					return err
				}
				if err := Append(ctx, l.Log, events.Delivery{
					Event: parsed, Body: body, Provider: parsed.Provider, Signature: specification.Sign(signer, body), KeyFingerprint: signer.Fingerprint(),
					ReceivedAt: time.Now(),
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// Logger writes to the output of the test.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}
