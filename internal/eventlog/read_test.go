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

	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A bounded read does not wait for ever for a message that the server has and does not deliver.
func TestASilentServerEndsABoundedRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	add(t, writing, "e1", 10)
	l := reader(t, dir)
	err := l.receive(t.Context(), 2, func(events.Message, wire.Header) error { return nil }, jetstream.NextMaxWait(time.Millisecond))
	require.ErrorIs(t, err, nats.ErrTimeout)
}

// breaking is a connection that breaks before it sends bytes that contain at.
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

// breakingDialer returns such connections.
type breakingDialer struct {
	*access.Dialer
	at string
}

func (d breakingDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.Dialer.Dial(network, address)
	return breaking{conn, d.at}, err
}

func TestAConnectionThatBreaksWhileAReaderIsMadeEndsTheRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	add(t, writing, "e1", 10)
	breaks := breakingDialer{access.NewDialer(dir, wait.Timeout), ".CONSUMER.CREATE."}
	l, err := connect("nats://embedded.invalid", "PAYMENTS", wait.Timeout, slog.New(slog.DiscardHandler), nats.SetCustomDialer(breaks),
		nats.Token(access.Token(dir)))
	require.NoError(t, err)
	defer l.conn.Close()
	err = l.Read(t.Context(), 1, func(_ events.Message, _ string) error { return nil })
	require.ErrorIs(t, err, ErrDisconnected)
}
