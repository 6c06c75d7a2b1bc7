package webhook_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/webhook"
)

// neverTimeOut makes a server wait for a body for ever, so an answer shows that it did not wait.
func neverTimeOut(w *world) { w.readTimeout = time.Hour }

func TestALengthAboveTheLimitIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, more := range []string{
		"Content-Length: 1001",
		"Content-Length: 9223372036854775807",
		"Content-Length: 524288\r\nExpect: 100-continue",
	} {
		var read atomic.Int64
		w := setup(t, count(&read), neverTimeOut)
		c := w.dial()
		c.begin("", more) // and not one byte of the body
		got := c.answer()
		requireProblem(t, got, http.StatusRequestEntityTooLarge, tooLarge)
		require.True(t, got.closes)
		require.Zero(t, read.Load())
	}
}

func TestARefusedHeaderIsAnsweredWithoutReadingTheBody(t *testing.T) {
	t.Parallel()
	var read atomic.Int64
	w := setup(t, count(&read), neverTimeOut)
	for _, start := range []string{"PUT " + specification.Path, "POST /x", "POST " + specification.Path} {
		c := w.dial()
		c.say("%s HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n", start)
		got := c.answer()
		require.Contains(t, []int{404, 405, 415}, got.status)
		require.True(t, got.closes)
		require.Zero(t, read.Load())
	}
}

func TestBytesAfterTheAnnouncedLengthAreNotPartOfTheBody(t *testing.T) {
	t.Parallel()
	const rest = `,"more":true}`
	w := setup(t)
	c := w.dial()
	c.begin(event, "Content-Length: 59")
	require.Len(t, event, 59)
	c.say("%s%s\r\n\r\n", event, rest)
	require.Equal(t, accepted, c.answer().body)
	require.Equal(t, http.StatusBadRequest, c.answer().status, "the rest is not a request")

	c = w.dial()
	c.begin(event+rest, "Content-Length: 59")
	c.say("%s%s", event, rest)
	requireProblem(t, c.answer(), http.StatusUnauthorized, unauthorized)

	got := w.log.deliveries()
	require.Len(t, got, 1)
	require.Equal(t, event, string(got[0].Body))
}

func TestATruncatedBodyIsNotAppended(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"before its announced length": "Content-Length: 60",
		"before its last chunk":       "Transfer-Encoding: chunked",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			c := w.dial()
			c.begin(event, more)
			if strings.HasPrefix(more, "Transfer") {
				c.say("3b\r\n")
			}
			c.say("%s", event) // complete and signed, but shorter than announced
			require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
			requireProblem(t, c.answer(), http.StatusBadRequest, "Body truncated")
			_, err := c.answers.ReadByte()
			require.ErrorIs(t, err, io.EOF)
			require.Empty(t, w.log.deliveries())
			require.Equal(t, map[string]float64{"broken_off/body_end": 1}, w.deliveries())
		})
	}
}

func TestABodyThatStallsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"announced": "Content-Length: 60\r\n\r\n{",
		"chunked":   "Transfer-Encoding: chunked\r\n\r\n3b\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var read atomic.Int64
			w := setup(t, count(&read), func(w *world) { w.readTimeout = 200 * time.Millisecond })
			c := w.dial()
			c.begin(event, more)
			answer, err := io.ReadAll(c)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is closed")
			if read.Load() > 0 { // otherwise a busy machine was too slow even for the header
				require.Regexp(t, "^HTTP/1.1 408 ", string(answer))
				require.Equal(t, map[string]float64{"too_slow/body_rate": 1}, w.deliveries())
				require.Contains(t, string(answer), "application/problem+json")
			}
			require.Empty(t, w.log.deliveries())
		})
	}
}

func TestALargeBodyThatStallsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := setup(t, neverTimeOut, func(w *world) { w.config.MaxBodyBytes, w.config.StallTimeout = 1<<20, 200*time.Millisecond })
	c := w.dial()
	c.begin(exactly(30_000), "Content-Length: 30000")
	c.say("%s", exactly(30_000)[:20_000])
	requireProblem(t, c.answer(), http.StatusRequestTimeout, "Body too slow")
	require.Empty(t, w.log.deliveries())
}

func TestTheServerBoundsTimeAndMemoryOfEveryRequest(t *testing.T) {
	t.Parallel()
	server := webhook.NewServer(webhook.New(config(prometheus.NewRegistry()), &scriptedLog{}), config(nil).Logger)
	for name, timeout := range map[string]time.Duration{
		"header": server.ReadHeaderTimeout, "read": server.ReadTimeout, "write": server.WriteTimeout, "idle": server.IdleTimeout,
	} {
		require.Positive(t, timeout, name)
		require.LessOrEqual(t, timeout, 2*time.Minute, name)
	}
	w := setup(t)
	c := w.dial()
	c.say("POST %s HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", specification.Path, strings.Repeat("x", 32<<10))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, c.answer().status)
}
