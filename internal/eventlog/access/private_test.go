package access

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// In a folder that others may write, another user could run a server.
func TestAFolderThatOthersCouldHaveFilledIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(path string) error
		because string
	}{
		"a link":              {func(path string) error { return os.Symlink(t.TempDir(), path) }, "is not a folder"},
		"a file":              {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "is not a folder"},
		"open to its group":   {func(path string) error { return os.Mkdir(path, 0o700) }, "others may write to"},
		"open to all, sticky": {func(path string) error { return os.Mkdir(path, 0o700) }, "others may write to"},
	} {
		dir := t.TempDir()
		require.NoError(t, c.prepare(privatePath(dir)), name)
		switch name { // whatever the umask is
		case "open to its group":
			require.NoError(t, os.Chmod(privatePath(dir), 0o770))
		case "open to all, sticky":
			require.NoError(t, os.Chmod(privatePath(dir), 0o777|os.ModeSticky))
		}
		_, err := dial(dir)
		require.ErrorIs(t, err, ErrUntrusted, name)
		require.ErrorContains(t, err, c.because, name)
		require.ErrorContains(t, err, privatePath(dir), name)
	}
}

func TestOnlyOneselfAndRootAreTrusted(t *testing.T) {
	t.Parallel()
	require.NoError(t, trust("it", os.Geteuid()))
	require.NoError(t, trust("it", 0))
	require.ErrorIs(t, trust("it", os.Geteuid()+1), ErrUntrusted)
}

func TestIngestClosesItsFolderToOthersAndRefusesALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(privatePath(dir), 0o700))
	require.NoError(t, os.Chmod(privatePath(dir), 0o777))
	folder, err := makePrivate(dir)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	info, err := os.Stat(privatePath(dir))
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())

	linked := t.TempDir()
	require.NoError(t, os.Symlink(dir, privatePath(linked)))
	_, err = makePrivate(linked)
	require.ErrorIs(t, err, ErrUntrusted)
}

// If others may write to the folder, another user may have put a link where the file is written.
func TestASecretIsNotWrittenIntoAFileOfSomebodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trap := filepath.Join(t.TempDir(), "trap")
	require.NoError(t, os.WriteFile(trap, nil, 0o600))
	require.NoError(t, os.Symlink(trap, tokenFile(dir)+".new"))
	require.NoError(t, writeFile(tokenFile(dir), "secret"))
	require.Empty(t, readTrimmed(trap))
	require.Equal(t, "secret", Token(dir))
}
