package localpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// ownerOf makes the test binary an owner of a private Postgres, to be killed.
const ownerOf = "LOCALPG_TEST_OWNER_OF"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerOf); dir != "" {
		if err := New(Config{Dir: dir, Durable: true}).Run(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// orphansStop says whether a server whose owner was killed shuts down by itself.
const orphansStop = runtime.GOOS == "linux"

// dataDir is a new data folder, in a parent of the given mode.
func dataDir(t *testing.T, parentMode os.FileMode) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "localpg-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(parent, parentMode))
	dir := filepath.Join(parent, "data")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Chmod(dir, 0o755)) // whatever the umask is
	t.Cleanup(func() {
		if place, err := os.ReadFile(filepath.Join(dir, "postgres.location")); err == nil {
			require.NoError(t, os.RemoveAll(filepath.Clean(string(place[:len(place)-1]))))
		}
		if dsn, err := DSN(dir); err == nil {
			config, err := pgx.ParseConfig(dsn)
			require.NoError(t, err)
			require.NoError(t, os.RemoveAll(config.Host))
		}
		require.NoError(t, os.RemoveAll(parent))
	})
	return dir
}

// running is a Server at work.
type running struct {
	*Server
	stop func() error // cancels it and returns what Run returned
}

func start(t *testing.T, dir string) running {
	t.Helper()
	return run(t, Config{Dir: dir})
}

// startAndStop makes a cluster in dir, and stops its server.
func startAndStop(t *testing.T, dir string) {
	t.Helper()
	server := start(t, dir)
	server.dsn(t)
	require.NoError(t, server.stop())
}

func run(t *testing.T, config Config) running {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	server := New(config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var result error
	go func() {
		result = server.Run(ctx)
		close(done)
	}()
	stop := func() error {
		cancel()
		<-done
		return result
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	return running{server, stop}
}

func (r running) dsn(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	dsn, err := r.Ready(ctx)
	require.NoError(t, err)
	return dsn
}

// execute runs statements in one connection of their own.
func execute(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn := open(t, dsn)
	for _, statement := range statements {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, conn.Close(t.Context()))
}

func open(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn
}

func query[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	conn := open(t, dsn)
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	require.NoError(t, conn.Close(t.Context()))
	return value
}

// startOwner starts an owner of a private Postgres in dir, to be killed.
func startOwner(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	owner := exec.CommandContext(t.Context(), os.Args[0])
	owner.Env = append(append(os.Environ(), ownerOf+"="+dir), env...)
	owner.Stderr = t.Output()
	require.NoError(t, owner.Start())
	return owner
}

// namedPostmaster returns the process id in postmaster.pid; 0 if there is none.
func namedPostmaster(t *testing.T, cluster string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(cluster, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	return pid
}

func kill(t *testing.T, owner *exec.Cmd) {
	t.Helper()
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
}
