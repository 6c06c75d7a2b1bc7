package fingerprint

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

func TestAProofIsThatOfTlog(t *testing.T) {
	t.Parallel()
	var all stored
	for n := range int64(1100) {
		all.append(t, n, leafOf(uint64(n)))
	}
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.Uint64Range(1, 1100).Draw(r, "size")
		index := rapid.Uint64Range(0, size-1).Draw(r, "index")
		p, err := NewInclusion(size, index)
		require.NoError(r, err)
		for n := range size {
			_, err := p.Hashes()
			require.ErrorIs(r, err, errSize)
			p.Append(leafOf(n))
		}
		hashes, err := p.Hashes()
		require.NoError(r, err)
		want, err := tlog.ProveRecord(int64(size), int64(index), &all)
		require.NoError(r, err)
		require.Equal(r, []Hash(want), hashes)
		require.NoError(r, CheckInclusion(hashes, size, p.Root(), index, leafOf(index)))

		other := rapid.Uint64Range(0, size).Draw(r, "other")
		if other != index {
			require.Error(r, CheckInclusion(hashes, size, p.Root(), index, leafOf(other)), "another leaf")
			require.Error(r, CheckInclusion(hashes, size, p.Root(), other, leafOf(index)), "another index")
		}
		if len(hashes) > 0 {
			i := rapid.IntRange(0, len(hashes)-1).Draw(r, "changed")
			hashes[i][rapid.IntRange(0, 31).Draw(r, "byte")] ^= 1
			require.Error(r, CheckInclusion(hashes, size, p.Root(), index, leafOf(index)))
			require.Error(r, CheckInclusion(hashes[1:], size, p.Root(), index, leafOf(index)))
		}
	})
}

func TestNoProofIsMadeOrTakenOfALeafOutsideTheTree(t *testing.T) {
	t.Parallel()
	for _, at := range []struct{ size, index uint64 }{{0, 0}, {3, 3}, {1 << 63, 0}, {1 << 63, 1<<63 - 1}} {
		_, err := NewInclusion(at.size, at.index)
		require.ErrorIs(t, err, errOutside)
		require.ErrorIs(t, CheckInclusion(nil, at.size, Hash{}, at.index, Hash{}), errOutside)
	}
}
