package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
)

func TestTheRootUpToAMessageIsThatOfACheckpointOfAsManyMessages(t *testing.T) {
	t.Parallel()
	w := setup(t, 3)
	_, signed := w.sign()
	w.deliver(4, 6)
	cover := func(until uint64) (Checkpoint, error) { return Cover(t.Context(), w.reader, signed.LogID, until) }
	got, err := cover(3)
	require.NoError(t, err)
	signed.Origin = ""
	require.Equal(t, signed, got, "later messages do not matter")
	require.NoError(t, w.compare(got))

	all, err := cover(6)
	require.NoError(t, err)
	require.EqualValues(t, 6, all.Size)
	require.NotEqual(t, got.Root, all.Root)
	none, err := cover(0)
	require.NoError(t, err)
	require.Zero(t, none.Size)

	_, err = cover(7)
	requireRefused(t, err, "the log ends at seq 6, before seq 7")
	_, err = Cover(t.Context(), w.reader, "another", 1)
	requireRefused(t, err, "and not log another")
}

func TestTheRootOfALogThatContinuesTablesBeginsWithItsFirstMessage(t *testing.T) {
	t.Parallel()
	w := setup(t, 0)
	w.reader.info = func(info *eventlog.Info) { info.First, info.Last = 11, 10 }
	info, err := w.reader.Info(t.Context())
	require.NoError(t, err)
	got, err := Cover(t.Context(), w.reader, info.LogID, 10)
	require.NoError(t, err)
	require.Equal(t, Checkpoint{LogID: info.LogID, First: 11, Root: got.Root}, got)
}
