package eventlog

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

//go:embed accounts.conf
var accounts string

// Server is a nats-server inside this process, for one machine. Clients on the
// same machine present the token and may only read; this process alone writes.
type Server struct {
	nats   *server.Server
	lock   *flock.Flock
	secret string // of the in-process connection
	config EmbeddedConfig
	store  *store
}

// EmbeddedConfig says where the embedded log lives and listens.
type EmbeddedConfig struct {
	DataDir string
	Address string // port 0: any free one; the bound address is written beside the token
	Stream  string
	Logger  *slog.Logger
}

// ErrLocked: another process holds the log of this data directory.
var ErrLocked = errors.New("another ingest is running on this data directory")

func tokenFile(dataDir string) string   { return filepath.Join(dataDir, "nats.token") }
func addressFile(dataDir string) string { return filepath.Join(dataDir, "nats.addr") }

// StartEmbedded locks the log, makes what an earlier process wrote durable, and
// starts the server. It listens when StartEmbedded returns.
func StartEmbedded(config EmbeddedConfig) (*Server, error) {
	// Others may look in: the private Postgres beside the log runs as another
	// user where this process is root. The log itself is closed to them.
	if err := os.MkdirAll(config.DataDir, 0o755); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	lock := flock.New(filepath.Join(config.DataDir, "log.lock"))
	if held, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the log: %w", err)
	} else if !held {
		return nil, ErrLocked
	}
	s := &Server{lock: lock, config: config, secret: randomToken()}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return s, nil
}

func (s *Server) start() error {
	dir := filepath.Join(s.config.DataDir, "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the log's directory: %w", err)
	}
	// A process that was killed may have left written but unsynced messages,
	// which the server would confirm as duplicates.
	if err := syncTree(s.config.DataDir, dir); err != nil {
		return fmt.Errorf("make the log durable: %w", err)
	}
	token, err := ensureToken(tokenFile(s.config.DataDir))
	if err != nil {
		return err
	}
	host, portText, err := net.SplitHostPort(s.config.Address)
	if err != nil {
		return fmt.Errorf("embedded NATS address: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return fmt.Errorf("embedded NATS address: port %q is not a number", portText)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	options := &server.Options{
		ServerName: "payfold", Host: host, Port: port,
		JetStream: true, StoreDir: dir, SyncAlways: true,
		NoSigs: true,
	}
	if err := options.ProcessConfigString(strings.ReplaceAll(accounts, "%STREAM%", s.config.Stream)); err != nil {
		return fmt.Errorf("configure the embedded log: %w", err)
	}
	authenticator := &authenticator{token: token, secret: s.secret}
	options.CustomClientAuthentication = authenticator
	if s.nats, err = server.NewServer(options); err != nil {
		return fmt.Errorf("configure the embedded log: %w", err)
	}
	if err := authenticator.find(s.nats); err != nil {
		return fmt.Errorf("configure the embedded log: %w", err)
	}
	s.nats.SetLoggerV2(serverLogger{s.config.Logger}, false, false, false)
	s.nats.Start()
	if !s.nats.ReadyForConnections(30 * time.Second) {
		s.stop()
		return errors.New("the embedded log did not start; see the log lines above")
	}
	s.store = newStore(filepath.Join(dir, "jetstream", writerAccount, "streams", s.config.Stream, "msgs"))
	if err := writeFile(addressFile(s.config.DataDir), s.nats.Addr().String()); err != nil {
		s.stop()
		return err
	}
	return nil
}

// Connect opens the connection that may write, inside the process.
func (s *Server) Connect() (*Log, error) {
	return connect(s.nats.ClientURL(), s.config.Stream, s.store.flush, s.config.Logger,
		nats.Name("payfold"), nats.InProcessServer(s.nats), nats.Token(s.secret))
}

// Addr is where clients of this machine reach the log.
func (s *Server) Addr() net.Addr { return s.nats.Addr() }

// Close stops the server when it has written what it has acknowledged, and
// gives the log free.
func (s *Server) Close(context.Context) error {
	s.stop()
	return s.lock.Unlock()
}

func (s *Server) stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

const (
	writerAccount = "PAYFOLD"
	readerAccount = "PAYFOLD_READ"
)

// authenticator lets this process write and whoever has the token read.
type authenticator struct {
	token, secret  string
	writer, reader *server.Account
}

func (a *authenticator) find(s *server.Server) (err error) {
	if a.writer, err = s.LookupAccount(writerAccount); err != nil {
		return err
	}
	a.reader, err = s.LookupAccount(readerAccount)
	return err
}

func (a *authenticator) Check(c server.ClientAuthentication) bool {
	presented := []byte(c.GetOpts().Token)
	if subtle.ConstantTimeCompare(presented, []byte(a.secret)) == 1 {
		c.RegisterUser(&server.User{Username: "ingest", Account: a.writer})
		return true
	}
	if subtle.ConstantTimeCompare(presented, []byte(a.token)) == 1 {
		c.RegisterUser(&server.User{Username: "reader", Account: a.reader, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"log.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}})
		return true
	}
	return false
}

func ensureToken(file string) (string, error) {
	if token := readTrimmed(file); token != "" {
		return token, nil
	}
	token := randomToken()
	return token, writeFile(file, token)
}

func randomToken() string {
	var token [24]byte
	rand.Read(token[:]) // never fails
	return hex.EncodeToString(token[:])
}

// writeFile replaces the file whole or not at all, for its owner only.
func writeFile(file, text string) error {
	temporary := file + ".new"
	if err := os.WriteFile(temporary, []byte(text+"\n"), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
