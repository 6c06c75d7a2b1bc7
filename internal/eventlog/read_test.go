package eventlog

import (
	"bytes"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// A read does not wait for ever for a server that does not deliver a message it has.
func TestASilentServerEndsABoundedRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	add(t, writing, "e1", 10)
	l := reader(t, dir)
	err := l.receive(t.Context(), 2, func(events.Message) error { return nil }, jetstream.NextMaxWait(time.Millisecond))
	require.ErrorIs(t, err, nats.ErrTimeout)
}

// breaking is a connection that breaks when it is to carry that.
type breaking struct {
	net.Conn
	at string
}

func (c breaking) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.at)) {
		_ = c.Close()
	}
	return c.Conn.Write(p)
}

func TestAConnectionThatBreaksWhileAReaderIsMadeEndsTheRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	add(t, writing, "e1", 10)
	breaks := newDialer(dir)
	breaks.reach = func(dataDir string) (net.Conn, error) {
		conn, err := reach(dataDir)
		return breaking{conn, ".CONSUMER.CREATE."}, err
	}
	l, err := connect("nats://embedded.invalid", "PAYMENTS", nil, slog.New(slog.DiscardHandler), nats.SetCustomDialer(breaks),
		nats.TokenHandler(func() string { return readTrimmed(tokenFile(dir)) }))
	require.NoError(t, err)
	defer l.Close()
	err = l.Read(t.Context(), 1, func(events.Message) error { return nil })
	require.ErrorIs(t, err, ErrDisconnected)
}
