package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// exactly is a signed event of n bytes.
func exactly(n int) string {
	const before, after = `{"id":"evt_1","eventType":"t","object":{"x":"`, `"}}`
	return before + strings.Repeat("x", n-len(before)-len(after)) + after
}

func TestABodyOfExactlyTheLimitIsAcceptedAndOneByteMoreIsNot(t *testing.T) {
	t.Parallel()
	for name, announce := range map[string]func(c *conversation, body string){
		"announced": func(c *conversation, body string) {
			c.begin(body, fmt.Sprintf("Content-Length: %d", len(body)))
			c.say("%s", body)
		},
		"chunked": func(c *conversation, body string) {
			c.begin(body, "Transfer-Encoding: chunked")
			c.say("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 10, body[:10], len(body)-10, body[10:])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			fits, over := exactly(limit), exactly(limit+1)
			c := w.dial()
			announce(c, fits)
			require.Equal(t, accepted, c.answer().body)
			require.Equal(t, fits, string(w.log.deliveries()[0].Body))

			c = w.dial()
			announce(c, over)
			requireProblem(t, c.answer(), http.StatusRequestEntityTooLarge, tooLarge)
			require.Len(t, w.log.deliveries(), 1)
		})
	}
}

// Programs that read a length and chunks in one request disagree about where the next one begins.
func TestAfterAChunkedDeliveryTheConnectionEnds(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"chunked":              "Transfer-Encoding: chunked",
		"with a length before": "Content-Length: 5\r\nTransfer-Encoding: chunked",
		"with a length after":  "Transfer-Encoding: chunked\r\nContent-Length: 5",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			c := w.dial()
			c.t = t
			chunked := header(event, more) + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(event), event)
			second := header(event, fmt.Sprintf("Content-Length: %d", len(event))) + event
			c.say("%s", chunked+second) // at once: the connection may end after the first answer
			got := c.answer()
			require.Equal(t, accepted, got.body)
			require.True(t, got.closes)
			c.requireEnd()
			require.Len(t, w.log.deliveries(), 1)
		})
	}
}

func TestAChunkedBodyIsNotReadBeyondTheLimit(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"chunked":                           "Transfer-Encoding: chunked",
		"chunked and a small length":        "Content-Length: 5\r\nTransfer-Encoding: chunked",
		"chunked and a length, other order": "Transfer-Encoding: chunked\r\nContent-Length: 5",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var read atomic.Int64
			w := setup(t, count(&read), neverTimeOut)
			c := w.dial()
			c.begin("", more)
			c.say("%x\r\n%s\r\n", 3*limit, exactly(3*limit)) // and never the last chunk
			got := c.answer()
			requireProblem(t, got, http.StatusRequestEntityTooLarge, tooLarge)
			require.True(t, got.closes)
			require.EqualValues(t, limit+1, read.Load(), "one byte more shows that it is too large")
			require.Empty(t, w.log.deliveries())
		})
	}
}
