package rowcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestANameIndexHasTheNewestEntryOfEveryName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		index, want := newNameIndex(0), map[uint64]uint32{}
		// The hashes of the second kind end alike, so they want the same slot.
		hash := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Custom(func(r *rapid.T) uint64 { return ^(rapid.Uint64Range(0, 9).Draw(r, "first") << 40) }))
		for i := range uint32(rapid.IntRange(0, 50).Draw(r, "entries")) {
			name := hash.Draw(r, "name")
			require.Equal(r, want[name], index.newest(name))
			require.Equal(r, want[name], index.replace(name, i+1))
			want[name] = i + 1
		}
		requireNames(r, index, want)
	})
}

func TestANameIndexGrows(t *testing.T) {
	t.Parallel()
	index, want := newNameIndex(0), map[uint64]uint32{}
	before := index.size()
	for i := range uint32(5000) {
		name := HashOf(string(rune(i)))
		index.replace(name, i+1)
		want[name] = i + 1
	}
	requireNames(t, index, want)
	require.Greater(t, index.size(), before)
	require.LessOrEqual(t, 3*index.names, 2*len(index.slots))
}

func requireNames(t require.TestingT, index nameIndex, want map[uint64]uint32) {
	var names []uint64
	index.each(func(name uint64) { names = append(names, name) })
	require.Len(t, names, len(want))
	for _, name := range names {
		require.Equal(t, want[name], index.newest(name))
	}
	require.Equal(t, len(want), index.names)
}
