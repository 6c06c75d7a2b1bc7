package segment

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func remainsOf(t *testing.T, data []byte) *Remains {
	t.Helper()
	r, err := ReadRemains(PartName(100), memory{bytes.NewReader(data)})
	require.NoError(t, err)
	return r
}

func TestFramesAreFoundWithoutHeaderAndFooter(t *testing.T) {
	t.Parallel()
	records := ordinary(100, 12)
	data, info := written(t, 200, records)
	end := info.index[len(info.index)-1]
	footer := int(end.offset) + int(end.compressed)
	for at := range data {
		changed := slices.Clone(data)
		changed[at] ^= 1
		r := remainsOf(t, changed)
		if at < headerLength || at >= footer {
			require.Equal(t, info.Last, r.Last, "byte %d", at)
			require.False(t, r.Unclear, "byte %d", at)
			require.Len(t, r.Records, len(records), "byte %d", at)
		}
		changed[len(changed)-1] ^= 2
		r = remainsOf(t, changed)
		require.True(t, r.Last == info.Last || r.Unclear, "byte %d and the last one: what it holds is not seen", at)
		for i := range records {
			record, err := appendRecord(nil, &records[i])
			require.NoError(t, err)
			if hash, ok := r.Records[records[i].Seq]; ok {
				require.Equal(t, Hash(sha256.Sum256(record)), hash)
			}
		}
	}
}

func TestAnEndThatIsMissingLeavesNothingUnclear(t *testing.T) {
	t.Parallel()
	data, info := written(t, 200, ordinary(100, 12))
	for length := range data {
		for _, zeros := range []int{0, 1000} { // a file system can leave zeros
			r := remainsOf(t, append(slices.Clone(data[:length]), make([]byte, zeros)...))
			require.LessOrEqual(t, r.Last, info.Last)
			if zeros == 0 {
				require.False(t, r.Unclear, "%d bytes", length)
			}
			for _, f := range info.index {
				if length >= int(f.offset) {
					require.GreaterOrEqual(t, r.Last, f.last(), "the head of its frame is there")
				}
			}
		}
	}
}

// endless is a segment to which a damaged file system gives another length.
type endless struct {
	memory
	size int64
}

func (e endless) Size() int64 { return e.size }

func (e endless) ReadAt(to []byte, at int64) (int, error) {
	clear(to)
	if n, err := e.memory.ReadAt(to, at); !errors.Is(err, io.EOF) {
		return n, err
	}
	return len(to), nil
}

// ingest reads what remains of a damaged segment, and must not end because of it.
func TestADamagedLengthTakesNoMemory(t *testing.T) {
	t.Parallel()
	data, info := written(t, 200, ordinary(100, 12))
	for _, size := range []int64{maxRemains + 1, 1 << 60} {
		r, err := ReadRemains(PartName(100), endless{memory{bytes.NewReader(data)}, size})
		require.NoError(t, err)
		require.Equal(t, info.Last, r.Last)
		require.True(t, r.Unclear, "nobody has read its end")
	}
}
