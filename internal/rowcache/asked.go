package rowcache

import "github.com/payfold/payfold/internal/tables"

// asked has the names by which rows were looked up. It keeps 128 bits of each name. The zero value
// is empty.
type asked struct{ names map[nameHash]struct{} }

type nameHash struct {
	kind tables.NameKind
	hash [2]uint64
}

// askedSize is about the memory of one name.
const askedSize = 48

// fresh returns the names that were not looked up before, in their order, and adds them. It leaves
// out a name if wanted returns false for its name in the row cache (NameKind.InCache). A nil wanted
// accepts all names.
func (a *asked) fresh(kind tables.NameKind, names []string, wanted func(name string) bool) (fresh []string) {
	if a.names == nil {
		a.names = map[nameHash]struct{}{}
	}
	for _, name := range names {
		hash := nameHash{kind, wideHash(name)}
		if _, done := a.names[hash]; done || wanted != nil && !wanted(kind.InCache(name)) {
			continue
		}
		a.names[hash] = struct{}{}
		fresh = append(fresh, name)
	}
	return fresh
}

// size is about the memory of all of it.
func (a *asked) size() int { return askedSize * len(a.names) }
