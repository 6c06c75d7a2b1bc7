package endtoend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The log is lost and the tables are not. They continue with a new log, and commands that
// need the lost events fail.
func TestTheTablesContinueWithANewLog(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	w.deliver(t, pack("e1", "p1", "u1", 10), pack("e2", "p2", "u2", 10), pack("e3", "p3", "u1", 10))
	w.awaitProjected(t)
	stop(t, projector)
	stop(t, w.ingest)
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "log")))

	w.startIngest(t, "STREAM_FIRST_SEQ=3", "ARCHIVE_URL="+t.TempDir())
	require.Contains(t, w.runWithExit(t, 1, "adopt-log"), "the log begins at seq 3; it must begin at 4")
	stop(t, w.ingest)
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "log")))
	w.startIngest(t, "STREAM_FIRST_SEQ=4", "ARCHIVE_URL="+t.TempDir())

	refused := w.startProjector(t)
	require.Equal(t, 1, refused.Exit(t))
	require.Contains(t, refused.Output(), "adopt-log")
	require.Contains(t, w.runWithExit(t, 0, "adopt-log"), "continue with log")
	require.Contains(t, w.runWithExit(t, 1, "adopt-log"), "is the log of these tables already")

	w.deliver(t, pack("e3", "p3", "u1", 10), pack("e4", "p4", "u1", 10))
	projector = w.startProjector(t)
	w.awaitProjected(t)
	require.EqualValues(t, 30, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u1'"))
	require.EqualValues(t, 4, mustQuery[int64](t, w.database, "select stream_seq from portal.duplicate_event"), "the second message of e3")

	require.Contains(t, w.runWithExit(t, 1, "verify"), "there is nothing to compare")
	for _, until := range [][]string{{"--until-seq", "1"}, {"--until", "2020-01-01T00:00:00Z"}} {
		require.Contains(t, w.runWithExit(t, 1, append([]string{"rebuild", "--schema", "past"}, until...)...), "it has no earlier messages")
	}
	require.Contains(t, w.runWithExit(t, 1, "rebuild", "--promote"), "--accept-log-loss gives these up")
	stop(t, projector)
}
