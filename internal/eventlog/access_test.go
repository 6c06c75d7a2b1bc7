package eventlog

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/testenv/wait"
)

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

// dial connects to the log as a reader of another process does.
func dial(dataDir string) (net.Conn, error) {
	return access.NewDialer(dataDir, wait.Timeout).Dial("", "")
}

// requireReadable makes sure that a reader in another process can read the log.
func requireReadable(t *testing.T, dataDir string) {
	t.Helper()
	l := reader(t, dataDir)
	wait.Until(t, func() bool { return l.Ready(t.Context()) == nil })
}

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
		require.EqualValues(t, os.Geteuid(), info.Sys().(*syscall.Stat_t).Uid, file)
	}
}

func TestTheLogListensOnTCPOnlyWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "127.0.0.1:0")
	require.NoError(t, os.Remove(filepath.Join(dir, "nats", "socket")))
	requireReadable(t, dir)
	stop(t, s, l)
	s, l = listening(t, dir, "")
	defer stop(t, s, l)
	require.Empty(t, s.Addr())
	require.Nil(t, s.nats.Addr())
	requireReadable(t, dir)
}

// An ordinary client of NATS, such as "nats --tlsfirst", needs the certificate and the token.
func TestAnOrdinaryClientReadsTheLogOverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "127.0.0.1:0")
	defer stop(t, s, l)
	add(t, l, "evt_1", 10)
	trusted := nats.RootCAs(filepath.Join(dir, "nats", "cert.pem"))
	connect := func(options ...nats.Option) error {
		conn, err := nats.Connect("nats://"+s.Addr(), append(options, nats.Timeout(wait.Timeout))...)
		if err != nil {
			return err
		}
		defer conn.Close()
		js, err := jetstream.NewWithAPIPrefix(conn, "log")
		require.NoError(t, err)
		consumer, err := js.OrderedConsumer(t.Context(), "PAYMENTS", jetstream.OrderedConsumerConfig{})
		require.NoError(t, err)
		message, err := consumer.Next(jetstream.FetchMaxWait(wait.Timeout))
		require.NoError(t, err)
		require.Contains(t, string(message.Data()), "evt_1")
		return nil
	}
	require.NoError(t, connect(nats.TLSHandshakeFirst(), trusted, nats.Token(access.Token(dir))))
	require.ErrorIs(t, connect(nats.TLSHandshakeFirst(), trusted, nats.Token("wrong")), nats.ErrAuthorization)
	require.ErrorContains(t, connect(nats.TLSHandshakeFirst(), nats.Token(access.Token(dir))), "certificate")
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

func TestAReaderAndItsConnectionInsideEndTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "")
	defer stop(t, s, l)
	inside := func() bool {
		connections, err := s.nats.Connz(nil)
		require.NoError(t, err)
		return slices.ContainsFunc(connections.Conns, func(c *server.ConnInfo) bool { return c.Name == "this reader" })
	}
	conn, err := nats.Connect("nats://127.0.0.1", nats.Timeout(wait.Timeout), nats.SetCustomDialer(access.NewDialer(dir, wait.Timeout)),
		nats.Token(access.Token(dir)), nats.NoReconnect(), nats.Name("this reader"))
	require.NoError(t, err)
	require.True(t, inside())
	conn.Close()
	wait.Until(t, func() bool { return !inside() })

	wrong, err := dial(dir)
	require.NoError(t, err)
	defer wrong.Close()
	_, err = wrong.Write([]byte(`CONNECT {"auth_token":"wrong"}` + "\r\n"))
	require.NoError(t, err)
	var said bytes.Buffer
	_, err = said.ReadFrom(wrong) // to the end
	require.NoError(t, err)
	require.Contains(t, said.String(), "Authorization Violation")
}

func TestALogThatStopsLetsItsReadersGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "127.0.0.1:0")
	silent, err := net.Dial("tcp", s.Addr()) // says nothing, not even TLS
	require.NoError(t, err)
	defer silent.Close()
	conn, err := nats.Connect("nats://127.0.0.1", nats.Timeout(wait.Timeout), nats.SetCustomDialer(access.NewDialer(dir, wait.Timeout)),
		nats.Token(access.Token(dir)), nats.NoReconnect())
	require.NoError(t, err)
	closed := conn.StatusChanged(nats.CLOSED)
	stop(t, s, l)
	<-closed
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err)
}

func TestATokenThatOthersCouldReadIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := listening(t, dir, "")
	first := access.Token(dir)
	stop(t, s, l)
	s, l = listening(t, dir, "")
	require.Equal(t, first, access.Token(dir), "made once and kept")
	stop(t, s, l)
	require.NoError(t, os.Chmod(filepath.Join(dir, "nats.token"), 0o644))
	s, l = listening(t, dir, "")
	defer stop(t, s, l)
	require.NotEqual(t, first, access.Token(dir))
	requireReadable(t, dir)
}

// A reader can make the server deliver the whole log to any subject that has a subscriber in
// the readers' account, and compare thousands of filters in one request.
func TestAReaderDoesNotReachTheConnectionThatAppends(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	require.Equal(t, 1, writing.conn.NumSubscriptions(), "for the answers to requests; direct has one for the answers to publishes; both have random subjects")
	l := reader(t, dir)
	wait.Until(t, func() bool { return l.conn.MaxPayload() == 8<<10 })
}
