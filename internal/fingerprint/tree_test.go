package fingerprint

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// The leaves and roots of the test vectors that implementations of RFC 6962 share.
var vectors = []struct{ leaf, root string }{
	{"", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
	{"00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"},
	{"10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"},
	{"2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"},
	{"3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"},
	{"40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"},
	{"5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"},
	{"606162636465666768696a6b6c6d6e6f", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"},
}

func TestTheRootsAreThoseOfRFC6962(t *testing.T) {
	t.Parallel()
	var tree Tree
	empty := tree.Root()
	require.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hex.EncodeToString(empty[:]))
	for i, vector := range vectors {
		leaf, err := hex.DecodeString(vector.leaf)
		require.NoError(t, err)
		tree.Append(tlog.RecordHash(leaf))
		require.Equal(t, uint64(i+1), tree.Size())
		root := tree.Root()
		require.Equal(t, vector.root, hex.EncodeToString(root[:]))
	}
}

// stored is a tree as tlog keeps it: with all hashes.
type stored []Hash

func (s *stored) ReadHashes(indexes []int64) ([]Hash, error) {
	out := make([]Hash, len(indexes))
	for i, index := range indexes {
		if index >= int64(len(*s)) {
			return nil, errors.New("not stored")
		}
		out[i] = (*s)[index]
	}
	return out, nil
}

func (s *stored) append(t require.TestingT, n int64, leaf Hash) {
	more, err := tlog.StoredHashesForRecordHash(n, leaf, s)
	require.NoError(t, err)
	*s = append(*s, more...)
}

func leafOf(n uint64) Hash { return tlog.RecordHash(binary.BigEndian.AppendUint64(nil, n)) }

func TestATreeIsThatOfTlogAtEverySize(t *testing.T) {
	t.Parallel()
	var all stored
	var tree Tree
	for n := range int64(3000) {
		leaf := leafOf(uint64(n))
		all.append(t, n, leaf)
		var completed []Hash
		tree.grow(leaf, func(level int, root Hash) {
			require.Len(t, completed, level)
			completed = append(completed, root)
		})
		begin := tlog.StoredHashIndex(0, n)
		require.Equal(t, []Hash(all[begin:]), completed)
		root, err := tlog.TreeHash(n+1, &all)
		require.NoError(t, err)
		require.Equal(t, root, tree.Root())
	}
}

func TestATreeGrowsOnFromItsEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		before, after := rapid.Uint64Range(0, 600).Draw(r, "before"), rapid.Uint64Range(0, 600).Draw(r, "after")
		var whole, begun Tree
		for n := range before {
			begun.Append(leafOf(n))
		}
		encoded, err := begun.MarshalBinary()
		require.NoError(r, err)
		var read Tree
		require.NoError(r, read.UnmarshalBinary(encoded))
		clone := begun.Clone()
		for n := range before + after {
			whole.Append(leafOf(n))
			if n >= before {
				read.Append(leafOf(n))
				clone.Append(leafOf(n))
			}
		}
		for _, other := range []*Tree{&read, clone} {
			require.Equal(r, whole.Size(), other.Size())
			require.Equal(r, whole.Root(), other.Root())
			require.True(r, slices.Equal(whole.edge, other.edge))
		}
		require.Equal(r, before, begun.Size(), "the clone grows alone")
		require.LessOrEqual(r, len(whole.edge), 64)
	})
}

func TestOnlyTreesAreRead(t *testing.T) {
	t.Parallel()
	var tree Tree
	for n := range uint64(5) {
		tree.Append(leafOf(n))
	}
	encoded, err := tree.MarshalBinary()
	require.NoError(t, err)
	root := tree.Root()
	huge := binary.BigEndian.AppendUint64([]byte{treeVersion}, 1<<63)
	wrong := [][]byte{nil, {treeVersion}, append(huge, make([]byte, tlog.HashSize)...), append([]byte{2}, encoded[1:]...), append(encoded[:len(encoded):len(encoded)], 0)}
	for end := range encoded {
		wrong = append(wrong, encoded[:end])
	}
	for _, data := range wrong {
		require.ErrorIs(t, tree.UnmarshalBinary(data), errNotATree)
		require.Equal(t, root, tree.Root(), "after an error the tree is unchanged")
	}
}

func FuzzUnmarshalTree(f *testing.F) {
	var tree Tree
	for n := range uint64(6) {
		encoded, _ := tree.MarshalBinary()
		f.Add(encoded)
		tree.Append(leafOf(n))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var tree Tree
		if err := tree.UnmarshalBinary(data); err != nil {
			return
		}
		encoded, err := tree.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, encoded)
		tree.Root()
		tree.Append(Hash{})
	})
}
