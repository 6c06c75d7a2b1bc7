package rowcache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
