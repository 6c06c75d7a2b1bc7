package fingerprint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// maxSize keeps sizes within what tlog can compute with.
const maxSize = 1 << 62

// Tree is a Merkle tree that grows. It keeps only its right edge: the root of each largest
// complete subtree, from left to right. This is one hash for each bit that is 1 in the size, at
// most 62. The zero Tree is empty. It is not safe for concurrent use.
type Tree struct {
	size uint64
	edge []Hash
}

// Append adds a leaf at the right.
func (t *Tree) Append(leaf Hash) { t.grow(leaf, func(int, Hash) {}) }

// grow is Append. It calls completed with the leaf, at level 0, and then with the root of each
// subtree that the leaf completes, from the lowest level up.
func (t *Tree) grow(leaf Hash, completed func(level int, root Hash)) {
	completed(0, leaf)
	for level := 1; level <= bits.TrailingZeros64(t.size+1); level++ {
		last := len(t.edge) - 1
		leaf = tlog.NodeHash(t.edge[last], leaf)
		t.edge = t.edge[:last]
		completed(level, leaf)
	}
	t.edge = append(t.edge, leaf)
	t.size++
}

// Size is the number of leaves.
func (t *Tree) Size() uint64 { return t.size }

// Root returns the hash of the whole tree. The root of an empty tree is the hash of nothing
// (RFC 6962, section 2.1).
func (t *Tree) Root() Hash {
	if t.size == 0 {
		empty, _ := tlog.TreeHash(0, nil) // cannot fail: it reads nothing
		return empty
	}
	last := len(t.edge) - 1
	root := t.edge[last]
	for i := last - 1; i >= 0; i-- {
		root = tlog.NodeHash(t.edge[i], root)
	}
	return root
}

// Clone returns a tree that grows independently.
func (t *Tree) Clone() *Tree { return &Tree{size: t.size, edge: slices.Clone(t.edge)} }

// treeVersion is the first byte of a tree's encoding.
const treeVersion = 1

// errNotATree means that the bytes were not made by MarshalBinary.
var errNotATree = errors.New("not the right edge of a tree")

// MarshalBinary encodes the tree: a byte 1, the size in 8 bytes, big-endian, and the hashes of
// the right edge. It never fails.
func (t *Tree) MarshalBinary() ([]byte, error) {
	out := make([]byte, 0, 1+8+len(t.edge)*tlog.HashSize)
	out = binary.BigEndian.AppendUint64(append(out, treeVersion), t.size)
	for _, hash := range t.edge {
		out = append(out, hash[:]...)
	}
	return out, nil
}

// UnmarshalBinary is the inverse of MarshalBinary. After an error the tree is unchanged. It
// cannot know whether the hashes are right: compare Root with a known root.
func (t *Tree) UnmarshalBinary(data []byte) error {
	if len(data) < 1+8 || data[0] != treeVersion {
		return errNotATree
	}
	size, hashes := binary.BigEndian.Uint64(data[1:]), data[1+8:]
	if size > maxSize || len(hashes) != bits.OnesCount64(size)*tlog.HashSize {
		return fmt.Errorf("%w: %d bytes of hashes do not belong to %d leaves", errNotATree, len(hashes), size)
	}
	t.size, t.edge = size, make([]Hash, 0, len(hashes)/tlog.HashSize)
	for ; len(hashes) > 0; hashes = hashes[tlog.HashSize:] {
		t.edge = append(t.edge, Hash(hashes[:tlog.HashSize]))
	}
	return nil
}
