package durable_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/durable"
)

func requireFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, string(content))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, mode, info.Mode())
}

func TestANewFileTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link, target := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "target")
	require.NoError(t, durable.Create(path, "first", 0o400))
	require.ErrorIs(t, durable.Create(path, "second", 0o600), fs.ErrExist)
	requireFile(t, path, "first", 0o400)
	require.NoError(t, os.Symlink(target, link))
	require.ErrorIs(t, durable.Create(link, "text", 0o600), fs.ErrExist)
	require.NoFileExists(t, target)
}

func TestAFileIsReplacedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, target := filepath.Join(dir, "file"), filepath.Join(dir, "target")
	require.NoError(t, durable.Replace(path, "one"))
	requireFile(t, path, "one", 0o600)
	require.NoError(t, os.WriteFile(path+".new", []byte("a kill left half"), 0o644))
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, durable.Replace(path, "two"))
	requireFile(t, path, "two", 0o600)
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after), "after a failed fsync, to write into the same file is not enough")
	require.NoFileExists(t, path+".new")
	require.NoError(t, os.Symlink(target, path+".new"))
	require.NoError(t, durable.Replace(path, "three"))
	requireFile(t, path, "three", 0o600)
	require.NoFileExists(t, target, "a link is not followed")

	occupied := filepath.Join(dir, "occupied")
	require.NoError(t, os.MkdirAll(filepath.Join(occupied, "by a folder"), 0o700))
	require.ErrorContains(t, durable.Replace(occupied, "text"), "write "+occupied)
	require.NoFileExists(t, occupied+".new")
	require.DirExists(t, filepath.Join(occupied, "by a folder"))
}

func TestWhatCannotBeMadeDurableIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, durable.Sync(dir))
	require.ErrorIs(t, durable.Sync(filepath.Join(dir, "missing")), fs.ErrNotExist)
	require.Error(t, durable.Sync(os.DevNull), "it has no fsync")
}
