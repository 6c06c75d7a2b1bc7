package endtoend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// A byte that changes on the disk of the log, wherever it is in a message.
func TestVerifyFindsAChangedByteOfTheLogsFile(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	for i := range 20 {
		w.deliver(t, testenv.ShopEvent(i))
	}
	w.awaitProjected(t)
	require.Contains(t, w.verify(t, 0), "portal is what the log gives, up to seq 19")
	stop(t, projector)
	stop(t, w.ingest)

	blocks, err := filepath.Glob(filepath.Join(w.dir, "log/jetstream/PAYFOLD/streams/PAYMENTS/msgs/*.blk"))
	require.NoError(t, err)
	require.Len(t, blocks, 1)
	text, err := os.ReadFile(blocks[0])
	require.NoError(t, err)
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(blocks[0], text, 0o600))
	w.startIngest(t)
	require.Contains(t, w.verify(t, 1), "the log skips from seq", "its checksum is wrong, so the server does not give it out")
}

func (w *world) verify(t *testing.T, status int, args ...string) string {
	t.Helper()
	command := w.command(t, append([]string{"verify"}, args...)...)
	require.Equal(t, status, command.Exit(t), command.Output())
	return command.Output()
}
