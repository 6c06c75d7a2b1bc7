package eventlog

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestConcurrentAppendsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	const count, copies, atOnce = 150, 4, 32
	var stored [count]atomic.Int32
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range count * copies {
		group.Go(func() error {
			duplicate, err := l.Append(t.Context(), example(t, fmt.Sprint("e", i%count), 10))
			if !duplicate {
				stored[i%count].Add(1)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	for i := range stored {
		require.EqualValues(t, 1, stored[i].Load(), i)
	}
	info, err := l.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, count, info.Last)
}

func TestAppendsGoOnAfterTheirConnectionIsLost(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	add(t, l, "e1", 10)
	for range 3 {
		before := l.connections()
		for _, conn := range connectionsOf(t, s, "payfold") {
			_ = s.nats.DisconnectClientByID(conn) // it may have ended meanwhile
		}
		wait.Until(t, func() bool { return l.connections() > before }, "the stream is checked again before the next answer")
		wait.Until(t, func() bool {
			duplicate, err := l.Append(t.Context(), example(t, "e1", 10))
			return err == nil && duplicate
		})
	}
}

// The server ends a connection that publishes more than its max_payload.
func TestATooLargeMessageFailsAlone(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	before := l.connections()
	_, err := l.Append(t.Context(), example(t, "e1", int(l.conn.MaxPayload())))
	require.ErrorIs(t, err, nats.ErrMaxPayload)
	d := example(t, "e2", 640<<10) // several writes
	_, err = l.Append(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, before, l.connections())
	stored, err := l.Message(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, d.Body, stored.Body)
}

func TestAValueWithLineBreaksStaysOneLineOfTheHeader(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	d := example(t, "e1", 10)
	d.TraceState = "a\r\nNats-Msg-Id: other\r\n\r\n"
	_, err := l.Append(t.Context(), d)
	require.NoError(t, err)
	stored, err := l.Message(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, d.Body, stored.Body)
	duplicate, err := l.Append(t.Context(), d)
	require.NoError(t, err)
	require.True(t, duplicate)
}

// connectionsOf returns the ids of the server's connections with that name.
func connectionsOf(t *testing.T, s *Server, name string) (ids []uint64) {
	t.Helper()
	connections, err := s.nats.Connz(&server.ConnzOptions{})
	require.NoError(t, err)
	for _, c := range connections.Conns {
		if c.Name == name {
			ids = append(ids, c.Cid)
		}
	}
	return ids
}
