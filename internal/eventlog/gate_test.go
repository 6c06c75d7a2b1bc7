package eventlog

import (
	"bufio"
	"bytes"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestOnlyItsOwnUserCanReachTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "127.0.0.1:0")
	defer stop(t, s, l)
	for file, want := range map[string]fs.FileMode{
		"nats.token": 0o600, "nats.addr": 0o600, "log": fs.ModeDir | 0o700, "nats": fs.ModeDir | 0o700,
		"nats/socket": fs.ModeSocket | 0o600, "nats/key.pem": 0o600, "nats/cert.pem": 0o600,
	} {
		info, err := os.Lstat(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode(), file)
		require.Equal(t, os.Geteuid(), owner(info), file)
	}
}

// listening starts the log with a TCP listener, or without one.
func listening(t *testing.T, dir, address string) (*Server, *Log) {
	t.Helper()
	s, err := StartEmbedded(t.Context(), EmbeddedConfig{DataDir: dir, Address: address, Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	l, err := s.Connect()
	require.NoError(t, err)
	ensure(t, l, ordinary)
	return s, l
}

// requireReadable: a reader of another process gets at the log.
func requireReadable(t *testing.T, dataDir string) {
	t.Helper()
	l := reader(t, dataDir)
	wait.Until(t, func() bool { return l.Ready(t.Context()) == nil })
}

func TestTheLogListensOnTCPOnlyWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "127.0.0.1:0")
	require.Equal(t, s.Addr(), readTrimmed(addressFile(dir)))
	stop(t, s, l)
	s, l = listening(t, dir, "")
	defer stop(t, s, l)
	require.Empty(t, s.Addr())
	require.Nil(t, s.nats.Addr())
	require.Len(t, s.gate.listeners, 1)
	require.NoFileExists(t, addressFile(dir))
	requireReadable(t, dir)
}

func TestReadersReachALogWhereverItLies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 20))
	work, err := os.Getwd()
	require.NoError(t, err)
	relative, err := filepath.Rel(work, filepath.Join(t.TempDir(), "data"))
	require.NoError(t, err)
	for _, dataDir := range []string{dir, relative} {
		s, l := listening(t, dataDir, "")
		requireReadable(t, dataDir)
		stop(t, s, l)
		require.NoFileExists(t, filepath.Join(dataDir, "nats", "socket"))
	}
}

// On systems without /proc a socket with a long path is reached through a link.
func TestALongPathIsShortenedByALink(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 20))
	require.NoError(t, os.MkdirAll(folder, 0o700))
	path, release, err := shortPath(folder, "socket")
	require.NoError(t, err)
	require.LessOrEqual(t, len(path), maxSocketPath)
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.FileExists(t, filepath.Join(folder, "socket"))
	release()
	require.NoDirExists(t, filepath.Dir(filepath.Dir(path)))
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
	_, err = reach(dir)
	require.ErrorIs(t, err, fs.ErrNotExist, "no certificate, so nobody there is trusted")

	s, l := listening(t, dir, "")
	defer stop(t, s, l)
	requireReadable(t, dir)
}

func TestAReaderAndItsConnectionInsideEndTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "")
	defer stop(t, s, l)
	inside := s.nats.NumClients()
	conn, err := reach(dir)
	require.NoError(t, err)
	greeting, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, greeting, "INFO {")
	require.Equal(t, inside+1, s.nats.NumClients())
	require.NoError(t, conn.Close())
	wait.Until(t, func() bool { return s.nats.NumClients() == inside })

	wrong, err := reach(dir)
	require.NoError(t, err)
	defer wrong.Close()
	_, err = wrong.Write([]byte(`CONNECT {"auth_token":"wrong"}` + "\r\n"))
	require.NoError(t, err)
	var said bytes.Buffer
	_, err = said.ReadFrom(wrong) // to the end
	require.NoError(t, err)
	require.Contains(t, said.String(), "Authorization Violation")
}

func TestReadersAboveTheLimitWait(t *testing.T) {
	t.Parallel()
	joined := make(chan net.Conn, 2*maxReaders)
	g, err := openGate(EmbeddedConfig{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, func() (net.Conn, error) {
		far, near := net.Pipe()
		joined <- far
		return near, nil
	})
	require.NoError(t, err)
	defer g.close()
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

func TestALogThatStopsLetsItsReadersGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "127.0.0.1:0")
	silent, err := net.Dial("tcp", s.Addr()) // says nothing, not even TLS
	require.NoError(t, err)
	defer silent.Close()
	token := nats.Token(readTrimmed(tokenFile(dir)))
	conn, err := nats.Connect("nats://127.0.0.1", nats.SetCustomDialer(newDialer(dir)), token, nats.NoReconnect())
	require.NoError(t, err)
	closed := conn.StatusChanged(nats.CLOSED)
	stop(t, s, l)
	<-closed
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err)
}
