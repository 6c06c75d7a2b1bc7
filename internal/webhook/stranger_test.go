package webhook_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

var unsignedHead = "POST " + specification.Path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nProvider-Signature: 00\r\n"

// stranger opens a connection and sends text. The server may close it at any time.
func (w *world) stranger(text string) net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	_, _ = conn.Write([]byte(text))
	return conn
}

// deliverOn delivers on a new connection.
func (w *world) deliverOn(body string) (*conversation, reply) {
	w.t.Helper()
	c := w.dial()
	return c, c.deliver(body)
}

func (c *conversation) deliver(body string) reply {
	c.t.Helper()
	c.begin(body, fmt.Sprintf("Content-Length: %d", len(body)))
	c.say("%s", body)
	return c.answer()
}

func TestStrangersWhoHoldEveryConnectionKeepNoDeliveryOut(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"silent":               "",
		"part of a header":     unsignedHead,
		"part of a body":       unsignedHead + "Content-Length: 900\r\n\r\n{",
		"part of a large body": unsignedHead + "Content-Length: 90000\r\n\r\n" + strings.Repeat("x", 80_000),
		"refused and stays":    unsignedHead + "Content-Length: 2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const maxConnections = 8
			w := setup(t, func(w *world) {
				w.connections = maxConnections
				w.timeout, w.config.StallTimeout = time.Hour, time.Hour // only eviction helps
				w.config.MaxBodyBytes = 1 << 20
			})
			provider, got := w.deliverOn(event)
			require.Equal(t, accepted, got.body)
			for range 3 {
				for range 2 * maxConnections {
					w.stranger(text)
				}
				for _, size := range []int{100, 5000, 1 << 20} {
					_, got := w.deliverOn(exactly(size))
					require.Equal(t, accepted, got.body)
				}
				require.Equal(t, accepted, provider.deliver(event).body, "a verified connection stays")
			}
			require.LessOrEqual(t, w.metric("payfold_webhook_connections"), float64(maxConnections))
			require.Positive(t, w.metric("payfold_webhook_evicted_connections_total"))
		})
	}
}

func TestVerifiedConnectionsLeaveAQuarterToNewcomers(t *testing.T) {
	t.Parallel()
	const maxConnections, kept = 8, 6
	w := setup(t, func(w *world) { w.connections = maxConnections })
	var provider []*conversation
	for i := range 2 * maxConnections {
		c, got := w.deliverOn(event)
		require.Equal(t, accepted, got.body)
		require.Equal(t, i >= kept, got.closes)
		if i >= kept {
			c.requireEnd()
			continue
		}
		provider = append(provider, c)
	}
	for _, c := range provider {
		require.Equal(t, accepted, c.deliver(event).body)
	}
	require.NoError(t, provider[0].Close())
	wait.Until(t, func() bool {
		_, got := w.deliverOn(event)
		return !got.closes
	}, "a new connection may stay once an old one has closed")
}

// The bodies have 64 MB together, and their last byte never arrives.
func TestUnsignedBodiesThatAreHeldBackKeepNoSignedOneOut(t *testing.T) {
	t.Parallel()
	const strangers, size = 140, 500 << 10
	var read atomic.Int64
	w := setup(t, count(&read), func(w *world) {
		w.config.MaxBodyBytes = 1 << 20
		w.timeout, w.config.StallTimeout = time.Hour, time.Hour
	})
	held := w.dial() // of the provider
	require.Equal(t, accepted, held.deliver(event).body)
	held.begin(exactly(size), fmt.Sprintf("Content-Length: %d", size))
	held.say("%s", exactly(size)[:size-1])
	wait.Until(t, func() bool { return read.Load() == int64(len(event)+size-1) })
	text := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", unsignedHead, size+1, strings.Repeat("x", size))
	for range strangers {
		w.stranger(text)
	}
	wait.Until(t, func() bool { return read.Load() > 30<<20 })
	provider := w.dial()
	for _, size := range []int{5000, 10_000, 400_000, 1 << 20, 50_000} {
		require.Equal(t, accepted, provider.deliver(exactly(size)).body)
		_, got := w.deliverOn(exactly(size))
		require.Equal(t, accepted, got.body)
	}
	held.say("%s", exactly(size)[size-1:])
	require.Equal(t, accepted, held.answer().body, "it was the slowest one")
	require.Positive(t, w.metric("payfold_webhook_evicted_bodies_total"))
	wait.Until(t, func() bool { return w.deliveries()["too_many/bodies"] > 0 }, "each is counted when its reader has noticed")
	require.Zero(t, w.metric("payfold_webhook_refusing_since_timestamp_seconds"), "they are strangers'")
}
