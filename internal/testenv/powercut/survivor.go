package powercut

import (
	"bytes"
	"maps"
	"math/rand/v2"
)

// Survivor returns the disk after the power comes back. random decides which changes without
// an fsync are left.
func (d *Disk) Survivor(random *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.journal && random.IntN(2) == 0 {
		d.root.syncNames()
	}
	s := survivor{random: random, journal: d.journal, known: map[*inode]*inode{}}
	out := newDisk(s.inode(d.root))
	out.journal = d.journal
	return out
}

type survivor struct {
	random  *rand.Rand
	journal bool              // no name changes without all others
	known   map[*inode]*inode // by old inode, because a file may survive under two names
}

func (s *survivor) inode(old *inode) *inode {
	if found := s.known[old]; found != nil {
		return found
	}
	out := &inode{mode: old.mode, folder: old.folder, modified: old.modified}
	s.known[old] = out
	if old.folder {
		entries := maps.Clone(old.durableEntries)
		if entries == nil {
			entries = map[string]*inode{}
		}
		if !s.journal {
			for _, m := range randomPart(s.random, old.moves) {
				m.apply(entries)
			}
		}
		out.entries = map[string]*inode{}
		for name, child := range entries {
			out.entries[name] = s.inode(child)
		}
		out.durableEntries = maps.Clone(out.entries)
		return out
	}
	out.data = s.contents(old)
	out.durable = bytes.Clone(out.data)
	return out
}

func (s *survivor) contents(old *inode) []byte {
	var pieces []write
	for _, w := range old.writes {
		pieces = append(pieces, w.sectors()...)
	}
	data := bytes.Clone(old.durable)
	for _, w := range randomPart(s.random, pieces) {
		data = w.apply(data)
	}
	// A new length may survive without the bytes.
	if len(data) < len(old.data) && s.random.IntN(4) == 0 {
		data = resized(data, int64(len(data)+1+s.random.IntN(len(old.data)-len(data))))
	}
	return data
}

// randomPart returns the changes that survive a cut: none, all, the first ones, or any.
func randomPart[T any](random *rand.Rand, changes []T) []T {
	if len(changes) == 0 {
		return nil
	}
	switch random.IntN(4) {
	case 0:
		return nil
	case 1:
		return changes
	case 2:
		return changes[:random.IntN(len(changes)+1)]
	}
	share := random.Float64()
	var left []T
	for _, change := range changes {
		if random.Float64() < share {
			left = append(left, change)
		}
	}
	return left
}
