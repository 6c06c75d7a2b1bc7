package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// busy is a server in the middle of one answer.
type busy struct {
	listener net.Listener
	cancel   context.CancelFunc
	finish   chan struct{} // closed: the answer is given
	caller   net.Conn
	closing  chan struct{} // closed when the server has begun to shut down
	ended    chan error
}

func setupBusy(t *testing.T, grace time.Duration) *busy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	b := &busy{listener, cancel, make(chan struct{}), nil, make(chan struct{}), make(chan error, 1)}
	entered := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		select {
		case <-b.finish:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "done")
	})}
	server.RegisterOnShutdown(func() { close(b.closing) })
	go func() { b.ended <- telemetry.Serve(ctx, server, listener, grace) }()
	b.caller, err = net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { cancel(); _ = b.caller.Close() })
	require.NoError(t, b.caller.SetDeadline(time.Now().Add(wait.Timeout)))
	_, err = fmt.Fprint(b.caller, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	<-entered
	return b
}

func TestWhatIsInFlightFinishesBeforeServeReturns(t *testing.T) {
	t.Parallel()
	b := setupBusy(t, wait.Timeout)
	b.cancel()
	<-b.closing
	_, err := net.Dial("tcp", b.listener.Addr().String())
	require.Error(t, err, "nothing new is taken")
	select {
	case err := <-b.ended:
		require.Fail(t, "Serve returned with a request in flight", err)
	default:
	}
	close(b.finish)
	all, err := io.ReadAll(b.caller)
	require.NoError(t, err)
	require.Regexp(t, `(?s)^HTTP/1.1 200 OK\r\n.*done$`, string(all))
	require.NoError(t, <-b.ended)
}

func TestAfterItsGraceServeClosesWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := setupBusy(t, 50*time.Millisecond)
	b.cancel()
	require.NoError(t, <-b.ended)
	all, err := io.ReadAll(b.caller)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is closed")
	require.Empty(t, all)
}

func TestServeEndedBeforeItBeganClosesItsListener(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, telemetry.Serve(ctx, &http.Server{}, listener, time.Second))
	_, err = listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

var errBroken = errors.New("broken")

type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errBroken }

func TestAListenerThatBreaksIsServesError(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	err = telemetry.Serve(context.Background(), &http.Server{}, brokenListener{listener}, time.Second)
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, listener.Addr().String())
}
