package endtoend

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	tables "github.com/payfold/payfold/internal/testenv/world"
)

// The program waits for a lock when it is killed. The next one goes on without help.
func TestAKilledExportLeavesNothingThatLooksComplete(t *testing.T) {
	t.Parallel()
	ctx, w := tables.New(t)
	stop := w.Project(ctx, t, 100)
	require.NoError(t, stop())
	path := filepath.Join(t.TempDir(), "out")
	start := func() *testenv.Program {
		return testenv.Start(t, "projector", []string{"DATABASE_URL=" + w.DSN, "DATA_DIR=" + t.TempDir()}, "export", path)
	}
	lock, err := w.DB.Begin(ctx)
	require.NoError(t, err)
	_, err = lock.Exec(ctx, "lock table portal.reversal")
	require.NoError(t, err)
	killed := start()
	observer := fixture.Connect(ctx, t, w.Open(ctx, t, store.LiveSchema))
	wait.Until(t, func() bool {
		var waits bool
		err := observer.QueryRow(ctx, `select exists (select from pg_stat_activity
			where query like 'declare "export_reversal"%' and wait_event_type = 'Lock'
				and datname = current_database())`).Scan(&waits)
		return err == nil && waits
	})
	require.DirExists(t, path+".partial")
	killed.Signal(syscall.SIGKILL)
	killed.Kill()
	require.NoError(t, lock.Rollback(ctx))
	require.NoDirExists(t, path)
	require.NoError(t, os.WriteFile(filepath.Join(path+".partial", "credits.parquet"), []byte("half"), 0o600))

	require.Zero(t, start().Exit(t))
	require.FileExists(t, filepath.Join(path, "manifest.json"))
	require.NoDirExists(t, path+".partial")
	require.Equal(t, 1, start().Exit(t), "the folder is not empty any more")
}
