package blockstore

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// A supervisor starts ingest again and again while the disk is full. Each start would leave a part of the torn end.
func TestATornEndThatCannotBeSetAsideLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := io.MultiReader(strings.NewReader("a part"), iotest.ErrReader(syscall.ENOSPC))
	require.ErrorIs(t, setAside(dir+"/unconfirmed-1-1.blk", full), syscall.ENOSPC)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
