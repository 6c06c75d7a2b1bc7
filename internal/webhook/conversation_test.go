package webhook_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// conversation is one raw connection.
type conversation struct {
	t *testing.T
	net.Conn
	answers *bufio.Reader
}

func (w *world) dial() *conversation {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(w.t, conn.SetDeadline(time.Now().Add(wait.Timeout)))
	return &conversation{w.t, conn, bufio.NewReader(conn)}
}

func (c *conversation) say(format string, args ...any) {
	c.t.Helper()
	_, err := fmt.Fprintf(c.Conn, format, args...)
	require.NoError(c.t, err)
}

// begin says a delivery's header; signed is what the signature is made of.
func (c *conversation) begin(signed, more string) {
	c.t.Helper()
	c.say("%s", header(signed, more))
}

// header is that of a delivery; signed is what the signature is made of.
func header(signed, more string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nProvider-Signature: %s\r\n%s\r\n\r\n",
		specification.Path, sign(current, signed), more)
}

func (c *conversation) answer() reply {
	c.t.Helper()
	got, err := http.ReadResponse(c.answers, nil)
	require.NoError(c.t, err)
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	require.NoError(c.t, err)
	return reply{got.StatusCode, got.Header, string(body), got.Close}
}

var date = regexp.MustCompile(`(?m)^Date: .*$`)

// converse returns every byte of the answer but its date.
func (w *world) converse(r *request) string {
	w.t.Helper()
	c := w.dial()
	asked := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	asked.Header, asked.Close = r.header, true
	require.NoError(w.t, asked.Write(c))
	all, err := io.ReadAll(c)
	require.NoError(w.t, err)
	require.Regexp(w.t, date, string(all))
	return date.ReplaceAllString(string(all), "")
}

// counted is a body that says how much of it was read.
type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func count(n *atomic.Int64) func(*world) {
	return func(w *world) {
		w.wrap = func(inner http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Body = counted{r.Body, n}
				inner.ServeHTTP(w, r)
			})
		}
	}
}
