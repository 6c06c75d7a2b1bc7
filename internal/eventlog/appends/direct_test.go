package appends

import (
	"bufio"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/wire"
)

func TestALostConnectionFailsWhatWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	d, entries := unanswered(3)
	d.forget(entries[1])
	unwritten := newEntry()
	require.NoError(t, d.publish(unwritten))
	require.Same(t, entries[2], d.take(entries[2].number)) // its number is free
	d.lost()
	for _, e := range []*entry{entries[0], unwritten} {
		<-e.result
		require.ErrorIs(t, e.err, ErrDisconnected)
	}
	require.ErrorIs(t, d.publish(newEntry()), ErrDisconnected)

	d.conn = &directConn{Conn: silent{}, max: 1000}
	next := newEntry()
	require.NoError(t, d.publish(next))
	require.Equal(t, []*entry{next}, d.queue, "the new connection sends nothing under an old number")
	require.Same(t, next, d.take(next.number))
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
	require.Len(t, d.pending, 3, "as many as were in flight at once")
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

// Until the connection is there, every append fails.
func TestAServerThatSaysNothingHoldsUpNoConnectionForEver(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"", "INFO {}\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			go func() {
				_, _ = io.WriteString(far, said)
				_, _ = io.Copy(io.Discard, far)
			}()
			_, err := greet(near, "token")
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		})
	}
}

// A server that reads nothing any more must not make ingest keep what nobody waits for.
func TestWhatWasNotWrittenIsDroppedWhenItsDeliveryGivesUp(t *testing.T) {
	t.Parallel()
	d, _ := unanswered(1)
	kept := newEntry()
	require.NoError(t, d.publish(kept))
	for range 10 {
		e := newEntry()
		require.NoError(t, d.publish(e))
		d.forget(e)
		require.Equal(t, []*entry{kept}, d.queue)
		require.Nil(t, d.take(e.number))
	}
	require.Len(t, d.pending, 3, "its number is free at once")
	d.forget(kept)
	require.Empty(t, d.queue)
}

// unanswered returns entries that were written, and that nobody answers.
func unanswered(count int) (*Direct, []*entry) {
	d := &Direct{wake: make(chan struct{}, 1), conn: &directConn{Conn: silent{}, max: 1000}}
	entries := make([]*entry, count)
	for i := range entries {
		entries[i] = newEntry()
		_ = d.publish(entries[i])
	}
	d.queue = nil
	return d, entries
}

func newEntry() *entry { return &entry{message: &wire.Message{}, result: make(chan struct{})} }

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
