package endtoend

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/accounts"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// While ingest is down, any local user can listen at its address, with a copy of the log and
// forged events.
func TestAnImpostorsLogIsNotReadAndReceivesNoToken(t *testing.T) {
	t.Parallel()
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	own.Close()
	for name, certificate := range map[string]*tls.Config{"without TLS": nil, "with another certificate": own.TLS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			stop(t, w.ingest)
			w.nats = ports.Free(t)
			w.startIngest(t)
			projector := w.startProjector(t)
			w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
			w.awaitProjected(t)
			stop(t, w.ingest)

			impostor := startImpostor(t, w, certificate)
			impostor.append(t, pack("evt_forged", "pay_forged", "u_thief", 1_000_000))
			projector.WaitFor(t, "is not the ingest of "+w.dir)
			command := w.command(t, "rebuild")
			require.Equal(t, 1, command.Exit(t), command.Output())
			require.Contains(t, command.Output(), "is not the ingest of "+w.dir)
			impostor.stop()
			token, err := os.ReadFile(filepath.Join(w.dir, "nats.token"))
			require.NoError(t, err)
			require.NotContains(t, impostor.received.String(), strings.TrimSpace(string(token)))
			require.Empty(t, impostor.tokens())

			w.startIngest(t)
			w.deliver(t, pack("evt_2", "pay_2", "u_1", 10))
			w.awaitProjected(t)
			require.EqualValues(t, 20, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_1'"))
			require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event where event_id = 'evt_forged'"))
			w.requireAllAccounted(t)
		})
	}
}

// impostor is a nats-server at the address of ingest's server, with a copy of its log. It
// accepts any token.
type impostor struct {
	nats  *server.Server
	front net.Listener

	mu        sync.Mutex
	received  wait.Buffer // from all clients
	presented []string    // tokens
}

func startImpostor(t *testing.T, w *world, certificate *tls.Config) *impostor {
	t.Helper()
	s := &impostor{}
	store := t.TempDir()
	require.NoError(t, os.CopyFS(store, os.DirFS(filepath.Join(w.dir, "log"))))
	options := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: store, NoLog: true, NoSigs: true,
		TLSConfig: certificate, TLSHandshakeFirst: certificate != nil, TLSTimeout: 10,
	}
	require.NoError(t, accounts.Configure(options, "PAYMENTS"))
	options.CustomClientAuthentication = s
	var err error
	s.nats, err = server.NewServer(options)
	require.NoError(t, err)
	s.nats.Start()
	t.Cleanup(s.stop)
	require.True(t, s.nats.ReadyForConnections(wait.Timeout))
	s.answerReaders(t)
	s.front, err = net.Listen("tcp", w.nats)
	require.NoError(t, err)
	go s.listen()
	return s
}

// Check gives the impostor's own connections the right to write, and all others the right to
// read.
func (s *impostor) Check(c server.ClientAuthentication) bool {
	token, account := c.GetOpts().Token, "PAYFOLD_READ"
	switch token {
	case "the impostor writes":
		account = "PAYFOLD"
	case "the impostor answers":
	default:
		s.mu.Lock()
		s.presented = append(s.presented, token)
		s.mu.Unlock()
	}
	found, err := s.nats.LookupAccount(account)
	c.RegisterUser(&server.User{Username: token, Account: found})
	return err == nil
}

// answerReaders answers that every message is durable.
func (s *impostor) answerReaders(t *testing.T) {
	conn, err := nats.Connect("", nats.InProcessServer(s.nats), nats.Timeout(wait.Timeout), nats.Token("the impostor answers"))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	_, err = conn.Subscribe("log.durable", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
}

// append adds an event as ingest does.
func (s *impostor) append(t *testing.T, body string) {
	t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(s.nats), nats.Timeout(wait.Timeout), nats.Token("the impostor writes"))
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	event, err := specification.Parse([]byte(body))
	require.NoError(t, err)
	m := nats.NewMsg("payments." + strconv.Itoa(event.Partition(64)))
	m.Data = []byte(body)
	m.Header.Set("Nats-Msg-Id", event.ID)
	_, err = js.PublishMsg(t.Context(), m)
	require.NoError(t, err)
}

// listen forwards connections to the server and records what the clients send.
func (s *impostor) listen() {
	for {
		conn, err := s.front.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			upstream, err := net.Dial("tcp", s.nats.Addr().String())
			if err != nil {
				return
			}
			defer upstream.Close()
			go func() { _, _ = io.Copy(conn, upstream) }()
			_, _ = io.Copy(io.MultiWriter(&s.received, upstream), conn)
		}()
	}
}

func (s *impostor) tokens() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.presented
}

func (s *impostor) stop() {
	if s.front != nil {
		_ = s.front.Close()
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
