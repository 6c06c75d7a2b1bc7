package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/network"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// setupNATS starts a server that payfold did not start, with a stream and one message.
func setupNATS(t *testing.T) (context.Context, *testenv.NATS, *eventlog.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	t.Cleanup(cancel)
	n := testenv.NewNATS(t)
	n.CreateStream(ctx, t, 4)
	l := n.Log(t)
	store(ctx, t, l, delivery(t, body("e1", "c")))
	return ctx, n, l
}

// connectThrough connects to the log through a proxy.
func connectThrough(t *testing.T, n *testenv.NATS) (*network.Proxy, *eventlog.Log) {
	t.Helper()
	proxy := network.NewProxy(t, strings.TrimPrefix(n.URL, "nats://"))
	l, err := eventlog.Connect(eventlog.Config{URL: "nats://" + proxy.Address(), Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return proxy, l
}

func TestAReadThatEndsLeavesNoConsumer(t *testing.T) {
	t.Parallel()
	ctx, n, l := setupNATS(t)
	failed := errors.New("the tables cannot be written")
	for range 10 {
		require.ErrorIs(t, l.Read(ctx, 1, func(_ events.Message, _ string) error { return failed }), failed)
		require.NoError(t, l.ReadUntil(ctx, 1, 1, func(events.Message) error { return nil }))
		stopped, stop := context.WithCancel(ctx)
		require.NoError(t, l.Read(stopped, 1, func(_ events.Message, _ string) error { stop(); return nil }))
		_, err := l.Waiting(ctx, 0, 0)
		require.NoError(t, err)
	}
	require.Zero(t, n.Consumers(ctx, t))
}

func TestAReaderOfTheEmbeddedLogMayDeleteItsOwn(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	l.Deliver(t, body("e1", "c"))
	collect(ctx, t, l.Reader(t), 1, 1)
	require.Zero(t, readStream(ctx, t, l).CachedInfo().State.Consumers)
}

func TestAReaderThatGoesSilentIsForgottenWithinSeconds(t *testing.T) {
	t.Parallel()
	ctx, n, _ := setupNATS(t)
	proxy, far := connectThrough(t, n)
	reading, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- far.Read(ctx, 1, func(_ events.Message, _ string) error { close(reading); return nil })
	}()
	<-reading
	require.Equal(t, 1, n.Consumers(ctx, t))
	proxy.Disturb(t, network.Silence, network.ToServer, network.ToClient)
	require.ErrorIs(t, <-ended, eventlog.ErrDisconnected)
	wait.Until(t, func() bool { return n.Consumers(ctx, t) == 0 })
}

// The server has sent all requested messages. While the reader works on them, it requests no
// others for longer than the server keeps an unused consumer.
func TestASlowReaderKeepsItsPlace(t *testing.T) {
	t.Parallel()
	ctx, n, l := setupNATS(t)
	const messages = 12 // more than one request asks for
	for i := 2; i <= messages; i++ {
		raw := fmt.Sprintf(`{"id":"e%d","eventType":"t","object":{"pad":%q}}`, i, strings.Repeat("x", 900_000))
		store(ctx, t, l, delivery(t, raw))
	}
	done := errors.New("done")
	read := func() error {
		return l.Read(ctx, 1, func(m events.Message, _ string) error {
			switch m.Seq {
			case 1:
				outlive(ctx, t, n)
				outlive(ctx, t, n) // the reader's timer may have begun after the first one
			case messages:
				return done
			}
			return nil
		})
	}
	err := read()
	for errors.Is(err, eventlog.ErrDisconnected) && !strings.Contains(err.Error(), "has deleted") { // a busy machine was silent for seconds
		err = read()
	}
	require.ErrorIs(t, err, done)
}

// outlive returns after the server has deleted a consumer that was created now and not used.
func outlive(ctx context.Context, t *testing.T, n *testenv.NATS) {
	t.Helper()
	abandoned, err := n.JetStream.CreateConsumer(ctx, testenv.Stream, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: eventlog.ConsumerTimeout,
	})
	require.NoError(t, err)
	wait.Until(t, func() bool {
		_, err := n.JetStream.Consumer(ctx, testenv.Stream, abandoned.CachedInfo().Name)
		return errors.Is(err, jetstream.ErrConsumerNotFound)
	})
}

func TestAReaderThatTheServerHasForgottenEnds(t *testing.T) {
	t.Parallel()
	ctx, n, l := setupNATS(t)
	reading, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- l.Read(ctx, 1, func(_ events.Message, _ string) error { close(reading); return nil })
	}()
	<-reading
	stream, err := n.JetStream.Stream(ctx, testenv.Stream)
	require.NoError(t, err)
	for name := range stream.ConsumerNames(ctx).Name() {
		require.NoError(t, stream.DeleteConsumer(ctx, name))
	}
	require.ErrorIs(t, <-ended, eventlog.ErrDisconnected)
}
