package storage

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAStoreThatDoesNotAnswerIsNamedAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dial   func(context.Context, func(net.Conn)) (net.Conn, error)
		serve  func(net.Conn)
		body   io.Reader
		wait   time.Duration // until the client gives up
		warned int
	}{
		"no connection":               {dial: unreachable, wait: 6 * time.Second, warned: 1},
		"no answer":                   {serve: readAll, wait: 6 * time.Second, warned: 1},
		"no answer to a body":         {serve: readAll, body: strings.NewReader("x"), wait: 6 * time.Second, warned: 1},
		"no answer in four seconds":   {serve: readAll, wait: 4 * time.Second},
		"an answer":                   {serve: answer, wait: time.Minute},
		"an answer to a slow request": {serve: answer, body: &slowBody{}, wait: 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dial := c.dial
				if dial == nil {
					dial = piped
				}
				var log bytes.Buffer
				transport := &slowTransport{Transport: &http.Transport{
					DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, c.serve) },
				}, logger: slog.New(slog.NewTextHandler(&log, nil))}
				defer transport.CloseIdleConnections()
				for range 2 { // a client tries again
					ctx, cancel := context.WithTimeout(t.Context(), c.wait)
					request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://store.example/one", c.body)
					require.NoError(t, err)
					if response, err := transport.RoundTrip(request); err == nil {
						require.NoError(t, response.Body.Close())
					}
					synctest.Wait()
					cancel()
				}
				require.Equal(t, c.warned, strings.Count(log.String(), `msg="the archive's store does not answer yet" endpoint=store.example after=5s`), log.String())
			})
		})
	}
}

func unreachable(ctx context.Context, _ func(net.Conn)) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func piped(_ context.Context, serve func(net.Conn)) (net.Conn, error) {
	client, server := net.Pipe()
	go serve(server)
	return client, nil
}

func readAll(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func answer(conn net.Conn) {
	defer conn.Close()
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, request.Body)
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

// slowBody takes a minute.
type slowBody struct{ sent int }

func (b *slowBody) Read(data []byte) (int, error) {
	if b.sent == 60 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	b.sent++
	data[0] = 'x'
	return 1, nil
}
