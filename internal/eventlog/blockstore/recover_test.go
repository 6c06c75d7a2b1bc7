package blockstore

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A flush can cover a block before the first message is in it, and a full disk can leave that block
// empty, or with a torn message. Then a start that is interrupted must not make the next one believe
// that a block is lost.
func TestAStartThatIsInterruptedDoesNotMissAnEmptyBlock(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "torn": "a part"} {
		w := build(t, 5, 0)
		w.write(w.block(2), []byte(content))
		w.markAs(Watermark{Stream: testStream, LogID: testLogID, Seq: 5, Block: 2})
		inTheWay := filepath.Join(w.dir, indexFile)
		require.NoError(t, os.MkdirAll(filepath.Join(inTheWay, "file"), 0o700))
		_, err := w.Recover(t.Context(), nil)
		require.ErrorContains(t, err, "the log's index", name)
		require.NoError(t, os.RemoveAll(inTheWay))
		w.starts(5, name)
		require.NoFileExists(t, w.block(2), name)
	}
}

// After an orderly stop the server itself may remove an empty block when it opens the log.
func TestAnEmptyBlockThatTheServerRemovesIsNotMissed(t *testing.T) {
	t.Parallel()
	w := build(t, 5, 0).markAs(Watermark{Stream: testStream, LogID: testLogID, Seq: 5, Block: 2, Closed: true})
	s, err := w.Recover(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, os.Remove(w.block(2)))
	require.NoError(t, s.Close(false)) // killed
	w.starts(5)
}

// The server has seen the failed fsync, so a file that is opened later is not told of it.
func TestAStopAfterAFailedFsyncIsNotOrderly(t *testing.T) {
	t.Parallel()
	w := build(t, 5).mark(5, false)
	s, err := w.Recover(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, s.Flush(5))
	s.SyncBlock = func(*os.File) error { return syscall.EIO }
	require.ErrorIs(t, s.Close(true), syscall.EIO)
	report, err := w.Check(t.Context(), false, nil)
	require.NoError(t, err)
	require.False(t, report.Closed, "the next start writes the end of the log again")
}

// A damaged file system can give a file any length.
func TestABlockOfAnyLengthTakesNoMemory(t *testing.T) {
	t.Parallel()
	w := build(t, 5, 5).mark(10, false)
	require.NoError(t, os.Truncate(w.block(1), 1<<40))
	require.NoError(t, os.Truncate(w.block(2), 1<<40))
	_, err := w.Recover(t.Context(), nil)
	require.ErrorContains(t, err, "longer than any block")
}

// Such an end is torn, which only a log that was not closed may have.
func TestAStopWithAnIncompleteEndIsNotOrderly(t *testing.T) {
	t.Parallel()
	w := build(t, 5).mark(5, false)
	s, err := w.Recover(t.Context(), nil)
	require.NoError(t, err)
	w.edit(1, func(b []byte) []byte { return append(b, w.message(1, 6)[:30]...) })
	require.ErrorContains(t, s.Close(true), "ends within a record")
	w.starts(5)
}
