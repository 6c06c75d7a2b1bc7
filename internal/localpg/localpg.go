package localpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockEvery is how often a waiting process tries the lock: a takeover should be
// quicker than a person notices, and a flock call costs next to nothing.
const lockEvery = 500 * time.Millisecond

// Config says where the private Postgres lives and how it behaves.
type Config struct {
	// Dir is the data folder (DATA_DIR). It is made if it is missing.
	Dir string
	// Logger gets what happens to the server; nil discards it.
	Logger *slog.Logger
	// Durable makes commits survive a crash of the machine. Only tests set it
	// to false.
	Durable bool
}

// Server is one process's part in keeping the private Postgres alive.
type Server struct {
	dir     string
	logger  *slog.Logger
	durable bool
}

// New returns a Server; nothing happens before Run.
func New(config Config) *Server {
	s := &Server{dir: config.Dir, logger: config.Logger, durable: config.Durable}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// Run keeps the server alive until ctx ends, alone or with other processes on
// the same folder, and returns nil once its own server, if it had one, has shut
// down. An error is one that trying again would not cure: no binaries, a
// cluster of another version, a socket folder that someone else made.
func (s *Server) Run(ctx context.Context) error {
	err := s.run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("private postgres in %s: %w", s.dir, err)
	}
	return nil
}

func (s *Server) run(ctx context.Context) error {
	dir, err := makeFolder(s.dir)
	if err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, "postgres.lock"))
	defer lock.Close()
	owner, err := lock.TryLock()
	if err == nil && !owner {
		s.logger.InfoContext(ctx, "private postgres belongs to another process, waiting", "data_dir", dir)
		_, err = lock.TryLockContext(ctx, lockEvery)
	}
	if err != nil {
		return err
	}
	site, err := s.prepare(ctx, dir)
	if err != nil {
		return err
	}
	return s.supervise(ctx, site)
}

// site is all that is settled before the first start.
type site struct {
	binaries string
	account  account
	cluster  string
	sockets  string
	password string
	dsnFile  string
	logFile  string
}

// prepare brings the folder to where a postmaster can start in it. It needs the
// lock, and may be interrupted anywhere and run again.
func (s *Server) prepare(ctx context.Context, dir string) (site, error) {
	at := site{dsnFile: dsnPath(dir), logFile: filepath.Join(dir, "postgres.log")}
	var err error
	if at.binaries, err = FindBinaries(); err != nil {
		return site{}, err
	}
	if at.account, err = serverAccount(); err != nil {
		return site{}, err
	}
	if at.cluster, err = locate(ctx, dir, at.binaries, at.account); err != nil {
		return site{}, err
	}
	if at.password, err = ensurePassword(filepath.Join(dir, "postgres.password"), at.cluster); err != nil {
		return site{}, err
	}
	at.sockets = socketFolder(at.account, at.cluster)
	if err = ensureCluster(ctx, at, s.durable); err != nil {
		return site{}, err
	}
	return at, nil
}

// makeFolder makes the data folder and returns its one true path, so that every
// process derives the same names from it.
func makeFolder(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data folder given")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
