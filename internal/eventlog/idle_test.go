package eventlog_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
)

// slowLine leads to the server at address; what it sends comes at 1.5 MB/s.
func slowLine(t *testing.T, address string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				defer server.Close()
				_, _ = io.Copy(server, client)
			}()
			go func() {
				defer client.Close()
				pace := time.NewTicker(40 * time.Millisecond)
				defer pace.Stop()
				for range pace.C {
					if err := passOn(client, server); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// passOn takes one piece over, of up to 60 KB.
func passOn(to io.Writer, from io.Reader) error {
	piece := make([]byte, 60<<10)
	n, err := from.Read(piece)
	if err != nil {
		return err
	}
	_, err = to.Write(piece[:n])
	return err
}

// The answers to its pings stand behind the messages, for longer than a silent
// connection is waited for.
func TestASlowLineIsNotTakenForASilentOne(t *testing.T) {
	t.Parallel()
	ctx, n, writing := setupNATS(t)
	const messages = 16
	padding := strings.Repeat("x", 700_000)
	for i := range messages {
		_, err := writing.Append(ctx, delivery(t, body(string(rune('a'+i)), padding)))
		require.NoError(t, err)
	}
	server, err := url.Parse(n.URL)
	require.NoError(t, err)
	l, err := eventlog.Connect(eventlog.Config{URL: "nats://" + slowLine(t, server.Host), Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	defer l.Close()
	require.Len(t, collect(ctx, t, l, 1, messages), messages)
}
