package access

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

const greeting = "welcome\n"

// open creates the readers' token, and opens a gate to a server that greets every connection.
func open(t *testing.T, dataDir, address string) *Gate {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	_, err := EnsureToken(dataDir, quiet)
	require.NoError(t, err)
	g, err := OpenGate(GateConfig{DataDir: dataDir, Address: address, Logger: quiet, Inside: func() (net.Conn, error) {
		server, inside := net.Pipe()
		go func() {
			_, _ = io.WriteString(server, greeting)
			_, _ = io.Copy(io.Discard, server)
		}()
		return inside, nil
	}})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

// dial connects as a reader does.
func dial(dataDir string) (net.Conn, error) { return NewDialer(dataDir, wait.Timeout).Dial("", "") }

// requireGreeted makes sure that a reader reaches the server. It returns the closed connection.
func requireGreeted(t *testing.T, dataDir string) net.Conn {
	t.Helper()
	conn, err := dial(dataDir)
	require.NoError(t, err)
	defer conn.Close()
	said, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, greeting, said)
	return conn
}

func TestTheGateListensOnTCPOnlyWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := open(t, dir, "127.0.0.1:0")
	require.Equal(t, g.Address(), readTrimmed(addressFile(dir)))
	require.Len(t, g.listeners, 2)
	g.Close()
	g = open(t, dir, "")
	require.Empty(t, g.Address())
	require.Len(t, g.listeners, 1)
	require.NoFileExists(t, addressFile(dir))
	requireGreeted(t, dir)
}

func TestTheSocketOfAKilledIngestIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := makePrivate(dir)
	require.NoError(t, err)
	left, err := folder.listen()
	require.NoError(t, err)
	require.NoError(t, left.Close())
	require.NoError(t, folder.Close())
	require.NoError(t, os.WriteFile(addressFile(dir), []byte("127.0.0.1:1"), 0o600))
	_, err = dial(dir)
	require.ErrorIs(t, err, fs.ErrNotExist, "no certificate, so nobody there is trusted")

	open(t, dir, "")
	requireGreeted(t, dir)
}

func TestReadersAboveTheLimitWait(t *testing.T) {
	t.Parallel()
	joined := make(chan net.Conn, 2*maxReaders)
	g, err := OpenGate(GateConfig{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Inside: func() (net.Conn, error) {
		far, near := net.Pipe()
		joined <- far
		return near, nil
	}})
	require.NoError(t, err)
	defer g.Close()
	conns := make([]net.Conn, maxReaders+1)
	for i := range conns {
		conns[i], err = g.folder.dial()
		require.NoError(t, err)
		defer conns[i].Close()
		if i < maxReaders {
			<-joined
		}
	}
	require.Empty(t, joined)
	require.NoError(t, conns[7].Close())
	<-joined
}

// exhausted is a listener that has no file descriptors for a while, and then one connection.
type exhausted struct {
	net.Listener
	faults int
	conns  chan net.Conn
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.faults--; l.faults >= 0 {
		return nil, syscall.EMFILE
	}
	conn, open := <-l.conns
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func TestReadersComeAgainAfterManyFailedAccepts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		l := &exhausted{faults: 2 * maxReaders, conns: make(chan net.Conn, 1)}
		l.conns <- near
		joined := make(chan struct{})
		g := &Gate{config: GateConfig{Logger: slog.New(slog.DiscardHandler), Inside: func() (net.Conn, error) {
			close(joined)
			return nil, net.ErrClosed
		}}}
		g.closing, g.end = context.WithCancel(t.Context())
		g.running.Go(func() { g.accept(l) })
		select {
		case <-joined:
		case <-time.After(time.Hour):
			require.Fail(t, "no reader comes in any more")
		}
		g.end()
		close(l.conns)
		g.running.Wait()
		require.NoError(t, far.Close())
	})
}

// Silent strangers must not take the places of readers.
func TestAConnectionWithoutAHandshakeIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		g := &Gate{}
		g.closing, g.end = context.WithCancel(t.Context())
		defer g.end()
		began := time.Now()
		g.join(tls.Server(near, &tls.Config{}))
		require.Equal(t, handshakeTimeout, time.Since(began))
	})
}
