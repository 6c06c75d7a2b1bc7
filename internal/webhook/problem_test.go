package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// requireEnd reads the end of the connection.
func (c *conversation) requireEnd() {
	c.t.Helper()
	rest, err := io.ReadAll(c.answers)
	require.NoError(c.t, err)
	require.Empty(c.t, rest)
}

func TestAnErrorAnswerClosesItsConnection(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, protocol := range []string{"HTTP/1.1", "HTTP/1.0"} {
		for _, row := range problems {
			r := delivery(row.body)
			row.spoil(r)
			c := w.dial()
			c.say("%s %s %s\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: %d\r\n", r.method, r.path, protocol, len(r.body))
			require.NoError(t, r.header.Write(c))
			c.say("\r\n%s", r.body)
			got := c.answer()
			t.Log(protocol, row.name)
			requireProblem(t, got, row.status, row.title)
			require.True(t, got.closes)
			c.requireEnd()
		}
	}
}

func TestAnAnswerOf503ClosesItsConnection(t *testing.T) {
	t.Parallel()
	w := setup(t, func(w *world) {
		w.log.answer = func(context.Context, events.Delivery) (bool, error) { return false, errors.New("away") }
	})
	c := w.dial()
	c.begin(event, "Content-Length: 59")
	c.say("%s", event)
	got := c.answer()
	requireProblem(t, got, http.StatusServiceUnavailable, notStored)
	require.True(t, got.closes)
	c.requireEnd()
}

func TestARequestAfterARefusedOneIsNotAnswered(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := w.dial()
	forged := header("forged", "Content-Length: 59") + event // the signature is of another body
	c.say("%s", forged+header(event, "Content-Length: 59")+event)
	requireProblem(t, c.answer(), http.StatusUnauthorized, unauthorized)
	c.requireEnd()
	require.Empty(t, w.log.deliveries())
}

func TestAContinueIsSentOnlyIfTheBodyIsRead(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := w.dial()
	c.begin("forged", "Content-Length: 59\r\nExpect: 100-continue")
	line, err := c.answers.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
	_, err = c.answers.ReadString('\n')
	require.NoError(t, err)
	c.say("%s", event)
	requireProblem(t, c.answer(), http.StatusUnauthorized, unauthorized)
	c.requireEnd()
}

// net/http refuses these before the handler sees them.
func TestInvalidHTTPIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t)
	post := "POST " + specification.Path + " HTTP/1.1\r\n"
	for name, row := range map[string]struct {
		request string
		status  int
	}{
		"no HTTP":                {"hello, world\r\n\r\n", 400},
		"TLS":                    {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		"no host":                {post + "\r\n", 400},
		"two hosts":              {post + "Host: a\r\nHost: b\r\n\r\n", 400},
		"a header without name":  {post + "Host: x\r\n: y\r\n\r\n", 400},
		"a length that is none":  {post + "Host: x\r\nContent-Length: -1\r\n\r\n", 400},
		"two lengths":            {post + "Host: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
		"an unknown encoding":    {post + "Host: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		"another version":        {"POST / HTTP/3.0\r\nHost: x\r\n\r\n", 505},
		"an unknown expectation": {post + "Host: x\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n", 417},
		"too large a header":     {post + "Host: x\r\nX: " + strings.Repeat("x", 32<<10) + "\r\n\r\n", 431},
	} {
		t.Run(name, func(t *testing.T) {
			c := w.dial()
			c.t = t
			c.say("%s", row.request)
			got := c.answer()
			require.Equal(t, row.status, got.status)
			require.True(t, got.closes)
			c.requireEnd()
		})
	}
	require.Empty(t, w.log.deliveries())
}

// The reference says: HTTP/1.0 or 1.1, and a header of at most 20 KB.
func TestADeliveryMayBeOfHTTP10AndItsHeaderHave20KB(t *testing.T) {
	t.Parallel()
	const limit = 20 << 10
	for name, row := range map[string]struct {
		protocol string
		header   int // bytes of the whole request line and header
		status   int
	}{
		"HTTP/1.0":                 {"HTTP/1.0", 0, http.StatusOK},
		"a header below 20 KB":     {"HTTP/1.1", limit - 100, http.StatusOK},
		"a header above 20 KB":     {"HTTP/1.1", limit + 100, http.StatusRequestHeaderFieldsTooLarge},
		"HTTP/1.0, a header above": {"HTTP/1.0", limit + 100, http.StatusRequestHeaderFieldsTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			c := w.dial()
			c.t = t
			head := fmt.Sprintf("POST %s %s\r\nHost: x\r\nContent-Type: application/json\r\nProvider-Signature: %s\r\nContent-Length: %d\r\nX: ",
				specification.Path, row.protocol, sign(current, event), len(event))
			c.say("%s%s\r\n\r\n%s", head, strings.Repeat("x", max(0, row.header-len(head)-4)), event)
			require.Equal(t, row.status, c.answer().status)
			if row.status == http.StatusOK {
				require.Len(t, w.log.deliveries(), 1)
			} else {
				require.Empty(t, w.log.deliveries())
			}
		})
	}
}

func TestARefusedSenderGetsItsAnswerHoweverMuchItSends(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for name, announce := range map[string]string{
		"announced":        "Content-Length: %d\r\n\r\n",
		"pipelined":        "Content-Length: 2\r\n\r\n%d", // followed by bytes that are not a request
		"another path":     "Content-Length: %d\r\nContent-Type: text/plain\r\n\r\n",
		"too large header": "X: %d",
	} {
		t.Run(name, func(t *testing.T) {
			const much = 1 << 20
			c := w.dial()
			c.t = t
			c.say("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+announce, specification.Path, much)
			c.say("%s", strings.Repeat("x", much))
			got := c.answer()
			require.GreaterOrEqual(t, got.status, 400)
			c.requireEnd()
		})
	}
}

// metric is the sum over a metric's labels.
func (w *world) metric(name string) (sum float64) {
	w.t.Helper()
	for full, value := range metrics.Values(w.t, w.registry) {
		if strings.HasPrefix(full+" ", name+" ") {
			sum += value
		}
	}
	return sum
}
