package eventlog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/singleflight"

	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/eventlog/accounts"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// Server is a nats-server inside this process, for one machine. Only this process can
// write. Readers in other processes connect through the gate, present the token, and can
// only read.
type Server struct {
	config EmbeddedConfig
	nats   *server.Server
	lock   *flock.Flock
	gate   *access.Gate
	store  *blockstore.Store  // its files; only this process changes them
	syncer *blockstore.Syncer // makes them durable

	// From Connect.
	log     *Log
	answers *nats.Conn // answers readers

	readerToken string // of readers in other processes
	writerToken string // of the in-process connections that write
	answerToken string // of answers

	mismatch  bool // the server has not opened what the syncer has recovered
	checkTook time.Duration
	openTook  time.Duration

	// health returns why the server stores nothing any more. It does not return while a write to
	// the disk hangs. A test replaces it.
	health          func() error
	healthQuestions singleflight.Group
}

// EmbeddedConfig says where the embedded log stores its files, and where it listens.
type EmbeddedConfig struct {
	DataDir string
	Address string // of a TCP listener in addition to the socket; empty for none. The bound address is written next to the token
	Stream  string
	Whole   bool // a stream that can be trimmed counts as unsafe
	Logger  *slog.Logger

	// Progress is called while the log is checked before it is opened, by one goroutine at a
	// time. It may be nil.
	Progress func(done, blocks int)

	// SyncBlock makes the bytes of a block durable. By default it is fdatasync; benchmarks
	// inject a slower disk.
	SyncBlock func(*os.File) error
}

// ErrLocked means that another process has locked the log of this data directory.
var ErrLocked = errors.New("another ingest is running on this data directory, or an ingest check")

// StartEmbedded locks the log, checks all of it, makes durable what an earlier process
// wrote, and starts the server. The server listens when StartEmbedded returns. The error
// is a *blockstore.DamagedError if the log must not be opened; then its files are unchanged.
func StartEmbedded(ctx context.Context, config EmbeddedConfig) (*Server, error) {
	// Other users may enter this folder: if this process is root, the private Postgres
	// beside the log runs as another user. The log's own folder is closed to them.
	if err := os.MkdirAll(config.DataDir, 0o755); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	lock := flock.New(lockFile(config.DataDir))
	if held, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the log: %w", err)
	} else if !held {
		return nil, fmt.Errorf("DATA_DIR %s: %w", config.DataDir, ErrLocked)
	}
	s := &Server{
		config: config, lock: lock, store: blockstore.New(logFolder(config.DataDir), accounts.Writer, config.Stream),
		writerToken: access.NewToken(), answerToken: access.NewToken(),
	}
	s.health = s.healthz
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.store.Root(), 0o700); err != nil {
		return fmt.Errorf("create the log's directory: %w", err)
	}
	began := time.Now()
	if s.syncer, err = recoverFiles(ctx, s.store, s.config); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.syncer.Close(false))
		}
	}()
	checked := time.Now()
	s.checkTook = checked.Sub(began)
	if s.readerToken, err = access.EnsureToken(s.config.DataDir, s.config.Logger); err != nil {
		return err
	}
	if err := s.run(); err != nil {
		return err
	}
	if err := s.syncer.Resume(); err != nil {
		s.stop()
		return err
	}
	s.openTook = time.Since(checked)
	s.gate, err = access.OpenGate(access.GateConfig{
		DataDir: s.config.DataDir, Address: s.config.Address, Inside: s.nats.InProcessConn, Logger: s.config.Logger,
	})
	if err != nil {
		s.stop()
		return err
	}
	return nil
}

// embeddedName is the server's name.
const embeddedName = "payfold"

// maxDiskSpace is more than any disk has. Without it the server would refuse every message
// once the log has taken three quarters of the space that was free when it started.
const maxDiskSpace = 1 << 60

// run starts the server, which syncs nothing: the syncer does. When run returns, the server accepts connections from
// inside the process.
func (s *Server) run() (err error) {
	options := &server.Options{
		ServerName: embeddedName, DontListen: true,
		JetStream: true, StoreDir: s.store.Root(),
		JetStreamMaxStore: maxDiskSpace,
		NoSigs:            true,
	}
	if err := accounts.Configure(options, s.config.Stream); err != nil {
		return fmt.Errorf("configure the embedded log: %w", err)
	}
	if s.config.Address != "" { // the gate does the handshake, and an ordinary client wants to hear that there is TLS
		options.TLSConfig, options.AllowNonTLS = &tls.Config{}, true
	}
	authenticator := &accounts.Authenticator{WriterToken: s.writerToken, AnswerToken: s.answerToken, ReaderToken: s.readerToken}
	options.CustomClientAuthentication = authenticator
	if s.nats, err = server.NewServer(options); err != nil {
		return fmt.Errorf("configure the embedded log: %w", err)
	}
	if err := authenticator.Find(s.nats); err != nil {
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

// Connect opens the connection that writes.
func (s *Server) Connect() (*Log, error) {
	log, err := connect(embeddedURL, s.config.Stream, ofEmbedded.request, s.config.Logger, s.inside(s.writerToken)...)
	if err != nil {
		return nil, err
	}
	log.committer = newCommitter(log.js, s.syncer.Flush)
	log.server, s.log = s, log
	log.files, log.whole = s.store, s.config.Whole
	if err := log.verifyOpened(s.syncer.Recovered); err != nil {
		s.mismatch = true
		log.Close()
		return nil, err
	}
	if err := s.answerReaders(); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// insideTimeout bounds an attempt to connect to the server in this process. The first attempt is
// not repeated, and on an overloaded machine the server may take some seconds to answer.
const insideTimeout = 30 * time.Second

// inside returns the options of a connection inside the process.
func (s *Server) inside(token string) []nats.Option {
	return []nats.Option{nats.InProcessServer(s.nats), nats.Token(token), nats.Timeout(insideTimeout)}
}

// healthz returns why the stream accepts no messages any more, or nil. After a failed write, for
// example on a full disk, the server accepts none until it is restarted.
func (s *Server) healthz() error {
	status := s.nats.Healthz(&server.HealthzOptions{Account: accounts.Writer, Stream: s.config.Stream})
	// With StatusInternalServerError, the server did not find within a millisecond that it has started. On a busy machine
	// that happens.
	if status.Error != "" && status.StatusCode != http.StatusInternalServerError {
		return errors.New(status.Error)
	}
	return nil
}

// Took returns how long the check of the log took, and how long the server took to open it.
func (s *Server) Took() (check, open time.Duration) { return s.checkTook, s.openTook }

// Addr is the address of the TCP listener for readers; empty if there is none.
func (s *Server) Addr() string { return s.gate.Address() }

// Close stops the server after it has written everything it acknowledged, and unlocks the
// log. The connection must be closed first.
func (s *Server) Close() error {
	s.stop()
	orderly := !s.mismatch && (s.log == nil || s.log.committer.failure() == nil)
	return errors.Join(s.syncer.Close(orderly), s.lock.Unlock())
}

func (s *Server) stop() {
	if s.gate != nil {
		s.gate.Close()
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// serverLogger passes on the log lines of the embedded server. Its notices become debug lines, and so do lines about
// clients: the server writes one for each connection without the token.
type serverLogger struct{ *slog.Logger }

// clientID is in each line about a client.
const clientID = " - cid:"

func (l serverLogger) say(level slog.Level, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.Contains(text, clientID) {
		level = slog.LevelDebug
	}
	l.Log(context.Background(), level, "embedded nats-server", "text", text)
}

func (l serverLogger) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v...) }
func (l serverLogger) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v...) }
func (l serverLogger) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v...) }
func (l serverLogger) Warnf(format string, v ...any)   { l.say(slog.LevelWarn, format, v...) }
func (l serverLogger) Errorf(format string, v ...any)  { l.say(slog.LevelError, format, v...) }
func (l serverLogger) Fatalf(format string, v ...any)  { l.say(slog.LevelError, format, v...) }
