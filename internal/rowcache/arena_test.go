package rowcache

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnArenaKeepsWhatIsLargerThanASegment(t *testing.T) {
	t.Parallel()
	bytes := arena{from: newMemory()}
	var spans []span
	sizes := []int{1, segmentSize + 1, 1, segmentSize, 2}
	for i, size := range sizes {
		spans = append(spans, bytes.put(slices.Repeat([]byte{byte(i)}, size)))
	}
	for i, size := range sizes {
		require.True(t, slices.Equal(slices.Repeat([]byte{byte(i)}, size), bytes.at(spans[i])), i)
	}
}

func TestAChunkedSliceKeepsWhatIsAdded(t *testing.T) {
	t.Parallel()
	var all segmented[int]
	for i := range 3*rowsOfSegment + 1 {
		require.EqualValues(t, i, all.add(i))
	}
	for i := range all.length {
		require.EqualValues(t, i, *all.at(i))
	}
}
