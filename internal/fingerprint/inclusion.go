package fingerprint

import (
	"errors"

	"golang.org/x/mod/sumdb/tlog"
)

// Inclusion collects the proof that a tree contains a leaf, while the tree grows. It keeps at
// most two hashes for each bit of the tree's size.
type Inclusion struct {
	size, index int64
	wanted      map[int64]Hash // by tlog's index; zero until it is known
	tree        Tree
}

var (
	errOutside = errors.New("the tree has no leaf with this index")
	errSize    = errors.New("the tree does not have the size of the proof")
	errWanted  = errors.New("hashes are noted, not read")
)

// NewInclusion prepares the proof for the leaf with that index, from 0, in a tree of that size.
func NewInclusion(size, index uint64) (*Inclusion, error) {
	if size > maxSize || index >= size {
		return nil, errOutside
	}
	p := &Inclusion{size: int64(size), index: int64(index), wanted: map[int64]Hash{}}
	_, err := tlog.ProveRecord(p.size, p.index, tlog.HashReaderFunc(func(indexes []int64) ([]Hash, error) {
		for _, i := range indexes {
			p.wanted[i] = Hash{}
		}
		return nil, errWanted
	}))
	if err != nil && !errors.Is(err, errWanted) {
		return nil, err
	}
	return p, nil
}

// Append adds the next leaf of the tree. The caller must begin with the first leaf.
func (p *Inclusion) Append(leaf Hash) {
	n := int64(p.tree.Size())
	p.tree.grow(leaf, func(level int, root Hash) {
		i := tlog.StoredHashIndex(0, n) + int64(level)
		if _, ok := p.wanted[i]; ok {
			p.wanted[i] = root
		}
	})
}

// Root returns the root of the tree so far.
func (p *Inclusion) Root() Hash { return p.tree.Root() }

// Hashes returns the proof, from the leaf's sibling up (RFC 6962, section 2.1.1). It fails
// unless the tree has the size of the proof.
func (p *Inclusion) Hashes() ([]Hash, error) {
	if p.tree.Size() != uint64(p.size) {
		return nil, errSize
	}
	return tlog.ProveRecord(p.size, p.index, tlog.HashReaderFunc(func(indexes []int64) ([]Hash, error) {
		out := make([]Hash, len(indexes))
		for i, index := range indexes {
			out[i] = p.wanted[index]
		}
		return out, nil
	}))
}

// CheckInclusion returns an error unless hashes prove that a tree of that size and root has the
// leaf at that index.
func CheckInclusion(hashes []Hash, size uint64, root Hash, index uint64, leaf Hash) error {
	if size > maxSize || index >= size {
		return errOutside
	}
	return tlog.CheckRecord(hashes, int64(size), root, int64(index), leaf)
}
