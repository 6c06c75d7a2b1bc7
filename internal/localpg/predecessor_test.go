package localpg

import (
	"io"
	"log/slog"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// Two postmasters would destroy the cluster.
func TestAServerThatStillRunsHasNoSuccessor(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	logged, log := io.Pipe()
	defer logged.Close()
	owner := startOwner(t, dir)
	dsn := running{Server: New(Config{Dir: dir})}.dsn(t)
	execute(t, dsn, "create table public.note (body text)", "insert into public.note values ('kept')")
	cluster := query[string](t, dsn, "show data_directory")
	postmaster := namedPostmaster(t, cluster)
	var backend int
	require.NoError(t, open(t, dsn).QueryRow(t.Context(), "select pg_backend_pid()").Scan(&backend))
	require.NoError(t, syscall.Kill(backend, syscall.SIGSTOP)) // a shutdown waits for it
	defer func() { _ = syscall.Kill(backend, syscall.SIGCONT) }()
	kill(t, owner)

	heir := run(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))})
	attempts := make([]byte, 4096)
	n, err := logged.Read(attempts)
	require.NoError(t, err)
	require.Contains(t, string(attempts[:n]), "private postgres ended, starting it again")
	require.Equal(t, postmaster, namedPostmaster(t, cluster))
	require.NoError(t, logged.Close())

	require.NoError(t, syscall.Kill(backend, syscall.SIGCONT))
	wait.Until(t, func() bool { return namedPostmaster(t, cluster) != postmaster })
	require.Equal(t, dsn, heir.dsn(t))
	require.Equal(t, "kept", query[string](t, dsn, "select body from public.note"))
}
