package eventlog

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// Numbers of entries are used again, so an answer must never reach the next entry.
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
	require.LessOrEqual(t, len(l.direct.pending), atOnce)
}

func TestAppendsGoOnAfterTheirConnectionIsLost(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	add(t, l, "e1", 10)
	before := l.connections()
	for range 3 {
		l.direct.mu.Lock()
		conn := l.direct.conn
		l.direct.mu.Unlock()
		if conn != nil {
			require.NoError(t, conn.Close())
		}
		wait.Until(t, func() bool {
			duplicate, err := l.Append(t.Context(), example(t, "e1", 10))
			if err != nil {
				require.ErrorIs(t, err, ErrDisconnected)
			}
			return err == nil && duplicate
		})
	}
	require.Greater(t, l.connections(), before, "the stream is checked again before the next answer")
}

// The server ends a connection that publishes more than its max_payload.
func TestATooLargeMessageFailsAlone(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	before := l.connections()
	_, err := l.Append(t.Context(), example(t, "e1", l.direct.conn.max))
	require.ErrorIs(t, err, nats.ErrMaxPayload)
	d := example(t, "e2", 10*writeBytes) // several writes
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

func TestALostConnectionFailsWhatWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	d, entries := unanswered(3)
	d.forget(entries[1])
	d.lost()
	for _, i := range []int{0, 2} {
		<-entries[i].result
		require.ErrorIs(t, entries[i].err, ErrDisconnected)
	}
	require.ErrorIs(t, d.publish(newEntry()), ErrDisconnected)
}

func TestANumberIsUsedAgainOnlyAfterItsAnswer(t *testing.T) {
	t.Parallel()
	d, entries := unanswered(2)
	d.forget(entries[0])
	next := newEntry()
	require.NoError(t, d.publish(next))
	require.NotEqual(t, entries[0].number, next.number)
	require.Nil(t, d.take(entries[0].number), "nobody waits for it any more")
	again := newEntry()
	require.NoError(t, d.publish(again))
	require.Equal(t, entries[0].number, again.number)
	d.forget(entries[0]) // too late: the number has another entry
	require.Same(t, again, d.take(again.number))
	require.Nil(t, d.take(again.number))
	require.Nil(t, d.take(1000))
}

// The server pings and sends an answer before it reads again.
func TestAPingOfTheServerHoldsUpNoAnswer(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	c := &directConn{Conn: near, input: bufio.NewReader(near), inbox: "i."}
	answered, ended := make(chan uint64, 1), make(chan error, 1)
	go func() { ended <- c.read(func(number uint64, _ string, _ []byte) { answered <- number }) }()
	_, err := far.Write([]byte("PING\r\nMSG i.7 1 2\r\n{}\r\n"))
	require.NoError(t, err)
	require.EqualValues(t, 7, <-answered)
	pong := make([]byte, len("PONG\r\n"))
	_, err = io.ReadFull(far, pong)
	require.NoError(t, err)
	require.Equal(t, "PONG\r\n", string(pong))
	require.NoError(t, near.Close())
	require.Error(t, <-ended)
}

// unanswered returns entries that were published, and that nobody writes.
func unanswered(count int) (*direct, []*entry) {
	d := &direct{wake: make(chan struct{}, 1), conn: &directConn{Conn: silent{}, max: 1000}}
	entries := make([]*entry, count)
	for i := range entries {
		entries[i] = newEntry()
		_ = d.publish(entries[i])
	}
	return d, entries
}

func newEntry() *entry { return &entry{message: &message{}, result: make(chan struct{})} }

// silent takes everything and says nothing.
type silent struct{ net.Conn }

func (silent) Write(p []byte) (int, error) { return len(p), nil }

func FuzzAnyTextOfTheServerIsReadOrRefused(f *testing.F) {
	f.Add("INFO {}\r\nPING\r\nMSG i.0 1 26\r\n{\"stream\":\"PAYMENTS\",\"seq\":7}\r\n")
	f.Add("HMSG i.0 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n")
	f.Add("HMSG i.1 1 17 16\r\n")
	f.Add("-ERR 'no'\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := &directConn{Conn: silent{}, input: bufio.NewReader(strings.NewReader(text)), inbox: "i."}
		require.Error(t, c.read(func(_ uint64, status string, answer []byte) {
			require.LessOrEqual(t, len(status)+len(answer), len(text))
		}), "its end at the latest")
	})
}
