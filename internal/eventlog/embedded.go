package eventlog

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

//go:embed accounts.conf
var accounts string

// Server is a nats-server inside this process, for one machine. Readers of other
// processes come through a gate, present the token and may only read; this process
// alone writes.
type Server struct {
	nats    *server.Server
	lock    *flock.Flock
	token   string // of readers
	secret  string // of the in-process connection that writes
	answers string // of the one that answers readers
	config  EmbeddedConfig
	store   *blockstore.Store
	found   *blockstore.Report // before the server opened it
	unlike  bool               // the server has opened something else
	synced  bool               // by the server, every message by itself
	gate    *gate
	log     *Log // of Connect
}

// EmbeddedConfig says where the embedded log lives and listens.
type EmbeddedConfig struct {
	DataDir string
	Address string // of TCP beside the socket, empty for none; the bound address is written beside the token
	Stream  string
	Logger  *slog.Logger

	// SyncBlock makes the bytes of a block durable. By default it is fdatasync; benchmarks
	// inject a slower disk.
	SyncBlock func(*os.File) error
}

// ErrLocked: another process holds the log of this data directory.
var ErrLocked = errors.New("another ingest is running on this data directory, or an ingest check")

// StartEmbedded locks the log, reads all of it, makes what an earlier process wrote
// durable, and starts the server. It listens when StartEmbedded returns. The error is
// a *blockstore.DamagedError where the log must not be opened; nothing of it is changed
// then.
func StartEmbedded(ctx context.Context, config EmbeddedConfig) (*Server, error) {
	// Others may look in: the private Postgres beside the log runs as another
	// user where this process is root. The log itself is closed to them.
	if err := os.MkdirAll(config.DataDir, 0o755); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	lock := flock.New(lockFile(config.DataDir))
	if held, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the log: %w", err)
	} else if !held {
		return nil, ErrLocked
	}
	s := &Server{lock: lock, config: config, secret: randomToken(), answers: randomToken()}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.store.Close(false), lock.Unlock())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	root := logFolder(s.config.DataDir)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return fmt.Errorf("create the log's directory: %w", err)
	}
	s.store = blockstore.New(root, writerAccount, s.config.Stream)
	if s.config.SyncBlock != nil {
		s.store.SyncBlock = s.config.SyncBlock
	}
	if err := s.recover(ctx); err != nil {
		return err
	}
	var err error
	if s.token, err = ensureToken(tokenFile(s.config.DataDir), s.config.Logger); err != nil {
		return err
	}
	if err := s.run(false); err != nil {
		return err
	}
	if err := s.decide(); err != nil {
		s.stop()
		return err
	}
	if s.gate, err = openGate(s.config, s.nats.InProcessConn); err != nil {
		s.stop()
		return err
	}
	return nil
}

// decide keeps the server that syncs nothing where the flush is sure to find
// what it writes, and replaces it by one that syncs always where it is not.
func (s *Server) decide() error {
	err := s.probe()
	if err == nil {
		return s.store.Resume()
	}
	s.config.Logger.Warn("the server's store is not as expected: every message is synced by itself, which is slower", "error", err)
	s.stop()
	if err := s.run(true); err != nil {
		return err
	}
	s.synced = true
	return s.store.Trust()
}

// wholeDisk is more than there is. By itself the server refuses everything, for as
// long as it runs, once the log has taken three quarters of what was free at its start.
const wholeDisk = 1 << 60

// run starts the server. It can be connected to, inside the process, when run returns.
func (s *Server) run(syncAlways bool) (err error) {
	options := &server.Options{
		ServerName: "payfold", DontListen: true,
		JetStream: true, StoreDir: s.store.Root(), SyncAlways: syncAlways,
		JetStreamMaxStore: wholeDisk,
		NoSigs:            true,
	}
	if err := options.ProcessConfigString(strings.ReplaceAll(accounts, "%STREAM%", s.config.Stream)); err != nil {
		return fmt.Errorf("configure the embedded log: %w", err)
	}
	authenticator := &authenticator{token: s.token, secret: s.secret, answers: s.answers}
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
	return nil
}

// Connect opens the connection that may write, inside the process.
func (s *Server) Connect() (*Log, error) {
	flush := s.store.Flush
	if s.synced {
		flush = s.store.FlushFolders
	}
	log, err := connect("nats://embedded.invalid", s.config.Stream, flush, s.config.Logger, nats.InProcessServer(s.nats), nats.Token(s.secret))
	if err != nil {
		return nil, err
	}
	log.health, log.made = s.health, s.store.Begin
	if err := s.opened(log); err != nil {
		s.unlike = true
		log.Close()
		return nil, err
	}
	if err := log.answerReaders(nats.InProcessServer(s.nats), nats.Token(s.answers)); err != nil {
		log.Close()
		return nil, err
	}
	s.log = log
	return log, nil
}

// health says why the stream takes no messages any more: after a failed write,
// a full disk's too, the server takes none before it is started anew.
func (s *Server) health() error {
	status := s.nats.Healthz(&server.HealthzOptions{Account: writerAccount, Stream: s.config.Stream})
	if status.Error != "" {
		return errors.New(status.Error)
	}
	return nil
}

// Addr is where readers reach the log over TCP; empty where they do not.
func (s *Server) Addr() string { return s.gate.address }

// Close stops the server when it has written what it has acknowledged, and
// gives the log free. The connection must be closed before.
func (s *Server) Close() error {
	s.stop()
	orderly := !s.unlike && (s.log == nil || s.log.committer.failure() == nil)
	return errors.Join(s.store.Close(orderly), s.lock.Unlock())
}

func (s *Server) stop() {
	if s.gate != nil {
		s.gate.close()
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
