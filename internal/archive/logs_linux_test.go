package archive_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv/users"
)

// A file system of its own has this folder, which only root may read.
func TestAnArchiveMayHaveAFileSystemOfItsOwn(t *testing.T) {
	t.Parallel()
	root := users.Folder(t)
	require.NoError(t, os.Mkdir(filepath.Join(root, "lost+found"), 0))
	var logs []string
	var err error
	look := func() { logs, err = archive.Logs(t.Context(), &storage.Folder{Root: root}) }
	if !users.AsOther(t, look) {
		look()
	}
	require.NoError(t, err)
	require.Empty(t, logs)
}
