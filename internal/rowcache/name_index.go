package rowcache

// nameIndex finds the newest entry under each name. A name is given as its hash. That makes it
// quicker than a map, which would hash the hash.
type nameIndex struct {
	slots []slot // their number is a power of two
	names int
}

// slot belongs to one name. It is at the place given by the hash, or at the next place that was
// free.
type slot struct {
	hash   uint64
	newest uint32 // counted from 1; 0: the slot is free
}

const slotSize = 16

// newNameIndex returns an index with room for about this many names.
func newNameIndex(names int) nameIndex {
	slots := 1 << 10
	for slots < 2*names {
		slots *= 2
	}
	return nameIndex{slots: make([]slot, slots)}
}

// newest returns the newest entry under a name, 0 if there is none.
func (x *nameIndex) newest(name uint64) uint32 { return x.slot(name).newest }

// replace makes the entry the newest one under a name, and returns the one before it, 0 if there
// is none.
func (x *nameIndex) replace(name uint64, newest uint32) (before uint32) {
	s := x.slot(name)
	before = s.newest
	*s = slot{name, newest}
	if before == 0 {
		x.names++
		x.grow()
	}
	return before
}

// slot returns the slot of a name, or the free one that it would get.
func (x *nameIndex) slot(name uint64) *slot {
	last := uint64(len(x.slots) - 1)
	for at := name & last; ; at = (at + 1) & last {
		if s := &x.slots[at]; s.newest == 0 || s.hash == name {
			return s
		}
	}
}

// first returns the slot where a name is, if no other name has taken it.
func (x *nameIndex) first(name uint64) *slot { return &x.slots[name&uint64(len(x.slots)-1)] }

// grow keeps at least a third of the slots free, so that a name is near its place.
func (x *nameIndex) grow() {
	if 3*x.names <= 2*len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.newest != 0 {
			*x.slot(s.hash) = s
		}
	}
}

// each calls do with the hash of every name.
func (x *nameIndex) each(do func(name uint64)) {
	for _, s := range x.slots {
		if s.newest != 0 {
			do(s.hash)
		}
	}
}

func (x *nameIndex) size() int { return slotSize * len(x.slots) }
