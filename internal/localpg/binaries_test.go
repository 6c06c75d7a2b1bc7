package localpg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeBinaries makes a folder that looks like one of PostgreSQL's.
func fakeBinaries(t *testing.T, dir string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	return dir
}

func TestPgBinIsTakenAtItsWord(t *testing.T) {
	dir := fakeBinaries(t, t.TempDir())
	t.Setenv("PG_BIN", dir)
	found, err := Binaries()
	require.NoError(t, err)
	require.Equal(t, dir, found)

	t.Setenv("PG_BIN", t.TempDir())
	_, err = Binaries()
	require.ErrorContains(t, err, "PG_BIN is "+os.Getenv("PG_BIN")+", which has no initdb and postgres")
}

func TestPathComesAfterPgBin(t *testing.T) {
	dir := fakeBinaries(t, t.TempDir())
	t.Setenv("PG_BIN", "")
	t.Setenv("PATH", dir)
	found, err := Binaries()
	require.NoError(t, err)
	require.Equal(t, dir, found)
}

func TestNewestVersionWins(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	fakeBinaries(t, filepath.Join(root, "postgresql/9/bin"))
	want := fakeBinaries(t, filepath.Join(root, "postgresql/18/bin"))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "postgresql/19/bin"), 0o755)) // client only
	found, ok := newest(filepath.Join(root, "postgresql/*/bin"))
	require.True(t, ok)
	require.Equal(t, want, found)
}

func TestAMissingServerNamesWhatToDo(t *testing.T) {
	t.Setenv("PG_BIN", "")
	t.Setenv("PATH", t.TempDir())
	folders := usualFolders
	t.Cleanup(func() { usualFolders = folders })
	usualFolders = []string{filepath.Join(t.TempDir(), "*/bin")}
	_, err := Binaries()
	require.ErrorContains(t, err, "no PostgreSQL server found")
	require.ErrorContains(t, err, "set DATABASE_URL or PG_BIN, or install it")
}
