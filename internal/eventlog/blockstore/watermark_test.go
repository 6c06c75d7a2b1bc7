package blockstore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func ordinaryWatermark(seq uint64) Watermark {
	return Watermark{Format: watermarkFormat, Stream: testStream, LogID: testLogID, Seq: seq, Block: 2}
}

// A write that is torn, or a bit that flips, leaves the other slot: the watermark of
// before, or the same.
func TestADamagedSlotLeavesTheOtherOne(t *testing.T) {
	t.Parallel()
	w := &world{Store: New(t.TempDir(), "PAYFOLD", testStream), t: t}
	f, err := w.newWatermark(ordinaryWatermark(1))
	require.NoError(t, err)
	defer f.file.Close()
	for seq := uint64(2); seq < 6; seq++ {
		require.NoError(t, f.advance(seq))
		whole := w.read(w.watermarkPath())
		for at := range len(whole) {
			damaged := append([]byte(nil), whole...)
			damaged[at] ^= 1 << (at % 8)
			read, err := parseWatermark(damaged)
			require.NoError(t, err)
			require.Contains(t, []uint64{seq - 1, seq}, read.Seq)
		}
		read, err := w.Watermark()
		require.NoError(t, err)
		require.Equal(t, f.now, *read)
	}
	require.NoError(t, f.advance(3))
	read, err := w.Watermark()
	require.NoError(t, err)
	require.EqualValues(t, 5, read.Seq, "never back")
}

func TestAWatermarkThatIsNewerThanThisBuildIsNotGuessedAt(t *testing.T) {
	t.Parallel()
	later := ordinaryWatermark(1)
	later.Format++
	var slots [2 * slotSize]byte
	require.NoError(t, later.encode(slots[:slotSize]))
	require.NoError(t, later.encode(slots[slotSize:]))
	_, err := parseWatermark(slots[:])
	require.ErrorIs(t, err, errWatermark)
	require.ErrorContains(t, err, "format 2, this build reads format 1")
}

func FuzzAWatermarkIsReadOrRefused(f *testing.F) {
	var slots [2 * slotSize]byte
	first, second := ordinaryWatermark(7), ordinaryWatermark(8)
	require.NoError(f, first.encode(slots[:slotSize]))
	require.NoError(f, second.encode(slots[slotSize:]))
	f.Add(slots[:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := parseWatermark(data)
		if err != nil {
			return
		}
		var slot [slotSize]byte
		if w.encode(slot[:]) == nil { // what was read is what would be written
			again, err := decode(slot[:])
			require.NoError(t, err)
			require.Equal(t, *w, again)
		}
	})
}
