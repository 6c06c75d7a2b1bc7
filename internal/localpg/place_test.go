package localpg

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFolderThatOnlyItsOwnerReaches(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o700)
	server := start(t, dir)
	dsn := server.dsn(t)
	place := query[string](t, dsn, "show data_directory")
	if os.Geteuid() != 0 {
		require.Equal(t, filepath.Join(dir, "postgres"), place)
		return
	}
	require.True(t, strings.HasPrefix(place, sharedHome+"/"), place)
	recorded, err := os.ReadFile(filepath.Join(dir, "postgres.location"))
	require.NoError(t, err)
	require.Equal(t, place+"\n", string(recorded))

	require.NoError(t, server.stop())
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	again := start(t, dir)
	require.Equal(t, dsn, again.dsn(t), "the cluster stays where it is")
}

func TestAClusterThatCannotBeReachedAnyMoreIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o700)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "postgres"), 0o700))
	if os.Geteuid() == 0 {
		require.ErrorContains(t, New(Config{Dir: dir}).Run(t.Context()), "cannot reach")
	}
	require.NoFileExists(t, filepath.Join(dir, "postgres.location"))
}

func TestAClusterIsLookedForInNoOtherFolder(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	record, elsewhere := filepath.Join(dir, "postgres.location"), filepath.Join(dir, "missing", "cluster")
	require.NoError(t, os.WriteFile(record, []byte(elsewhere+"\n"), 0o600))
	require.ErrorContains(t, New(Config{Dir: dir}).Run(t.Context()), "which is not a folder in "+sharedHome)
	require.NoError(t, os.Remove(record))
}

func TestInterruptedInitdbStartsOver(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	half := filepath.Join(dir, ".postgres-initdb", "data")
	require.NoError(t, os.MkdirAll(half, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("1\n"), 0o600))
	start(t, dir).dsn(t)
	require.NoDirExists(t, filepath.Dir(half))
}

func TestClusterWithoutItsPasswordIsRefused(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	startAndStop(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, "postgres.password")))
	require.ErrorContains(t, New(Config{Dir: dir}).Run(t.Context()), "postgres.password")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres.password"), []byte("another\n"), 0o600))
	require.ErrorContains(t, New(Config{Dir: dir}).Run(t.Context()), "password authentication failed")
}

func TestClusterOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "postgres"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres", "PG_VERSION"), []byte("1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres.password"), []byte("p\n"), 0o600))
	require.ErrorContains(t, New(Config{Dir: dir}).Run(t.Context()), "belongs to PostgreSQL 1,")
}

func TestForeignSocketFolderIsRefused(t *testing.T) {
	t.Parallel()
	foreign := map[string]func(path string) error{
		"symlink": func(path string) error { return os.Symlink(t.TempDir(), path) },
		"file":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
	}
	if os.Geteuid() == 0 {
		foreign["another user's"] = func(path string) error {
			if err := os.Mkdir(path, 0o777); err != nil {
				return err
			}
			return os.Chown(path, 12345, 12345)
		}
	}
	dir := dataDir(t, 0o755)
	who, err := serverAccount()
	require.NoError(t, err)
	path := socketFolder(who, filepath.Join(dir, "postgres"))
	defer os.RemoveAll(path)
	for name, create := range foreign {
		require.NoError(t, create(path))
		require.ErrorIs(t, New(Config{Dir: dir}).Run(t.Context()), ErrSocketFolder, name)
		require.NoError(t, os.RemoveAll(path))
	}
}

func TestAnOwnSocketFolderIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	who, err := serverAccount()
	require.NoError(t, err)
	path := socketFolder(who, filepath.Join(dir, "postgres"))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.Chmod(path, 0o777))
	start(t, dir).dsn(t)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())
}

func TestCancelledBeforeItBeganIsNoError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server := New(Config{Dir: dataDir(t, 0o755)})
	require.NoError(t, server.Run(ctx))
	_, err := server.Ready(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, os.ErrNotExist)
}
