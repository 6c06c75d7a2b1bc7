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

// lockInterval is the time between two attempts to get the lock. An attempt costs almost
// nothing, and a takeover is faster than a person notices.
const lockInterval = 500 * time.Millisecond

// Config says where the private Postgres stores its files and how it behaves.
type Config struct {
	// Dir is the data folder (DATA_DIR). It is created if it is missing.
	Dir string
	// Logger gets messages about the server; nil discards them.
	Logger *slog.Logger
	// Durable makes commits survive a crash of the machine. Only tests set it to false.
	Durable bool
	// Settings of the server, such as "work_mem=1MB", take precedence over those of this package. Only tests have some.
	Settings []string
}

// Server keeps the private Postgres running, together with the Servers of other processes.
type Server struct{ config Config }

// New returns a Server. It does nothing before Run.
func New(config Config) *Server {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{config}
}

// Run keeps Postgres running until ctx ends. Several processes may do so for the same folder.
// It returns nil after ctx has ended and a postmaster that it had started has shut down. It
// returns an error if a retry would not help: there are no binaries, the cluster has another
// version, or another user created the socket folder.
func (s *Server) Run(ctx context.Context) error {
	err := s.run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("private postgres in %s: %w", s.config.Dir, err)
	}
	return nil
}

func (s *Server) run(ctx context.Context) error {
	dir, err := makeFolder(s.config.Dir)
	if err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, "postgres.lock"))
	defer lock.Close()
	owner, err := lock.TryLock()
	if err == nil && !owner {
		s.config.Logger.InfoContext(ctx, "another process runs the private postgres; this one starts it again if that process ends", "data_dir", dir)
		_, err = lock.TryLockContext(ctx, lockInterval)
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

// prepare creates everything that a postmaster needs. The caller must hold the lock. prepare
// may be interrupted anywhere and called again.
func (s *Server) prepare(ctx context.Context, dir string) (site, error) {
	at := site{dsnFile: dsnPath(dir), logFile: filepath.Join(dir, "postgres.log")}
	var err error
	if at.binaries, err = Binaries(); err != nil {
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
	if err = ensureCluster(ctx, at, s.config.Durable); err != nil {
		return site{}, err
	}
	return at, nil
}

// makeFolder creates the data folder and returns its absolute path without links, so that
// every process derives the same names from it.
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
