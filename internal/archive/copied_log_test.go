package archive_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/testenv"
)

// A copy of the data directory is a second log with the same id, such as that of a machine that was restored while the
// old one went on. Both would write into one archive.
func TestACopyOfTheLogDoesNotGoOnBehindOtherMessages(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 10)
	place := w.place(t)
	archiver := w.archiver(place)
	require.NoError(t, archiver.Step(t.Context()))

	other := &world{Log: &testenv.Log{Dir: t.TempDir()}, path: w.path}
	w.Stop(t)
	require.NoError(t, os.CopyFS(other.Dir, os.DirFS(w.Dir)))
	w.Start(t, 8)
	other.Start(t, 8)
	defer other.Stop(t)
	archiverOfCopy := other.archiver(place)
	require.NoError(t, archiverOfCopy.Step(t.Context()))

	w.fill(t, 11, 12)
	other.fill(t, 101, 103)
	require.NoError(t, archiver.Step(t.Context()))
	before := w.files(t)
	require.ErrorAs(t, archiverOfCopy.Step(t.Context()), new(*archive.ContradictionError))
	require.Equal(t, before, w.files(t))
	w.fill(t, 13, 13)
	require.NoError(t, archiver.Step(t.Context()))
	w.requireWhole(t, place)
}
