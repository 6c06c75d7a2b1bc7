package powercut

import (
	"maps"
	"time"
)

// inode is a file or a folder: its present state, its durable state, and the changes between
// them in order.
type inode struct {
	number   uint64
	mode     uint32 // permissions
	modified time.Time

	data    []byte
	durable []byte
	writes  []write

	folder         bool
	entries        map[string]*inode
	durableEntries map[string]*inode
	moves          []move
}

// write sets bytes, or a new length.
type write struct {
	at     int64
	bytes  []byte
	resize bool // to length at
}

// move sets names in a folder atomically; nil removes a name.
type move map[string]*inode

// sector is the number of bytes that a disk writes atomically.
const sector = 512

func (w write) apply(data []byte) []byte {
	if w.resize {
		return resized(data, w.at)
	}
	if end := w.at + int64(len(w.bytes)); end > int64(len(data)) {
		data = resized(data, end)
	}
	copy(data[w.at:], w.bytes)
	return data
}

func resized(data []byte, length int64) []byte {
	if length <= int64(len(data)) {
		return data[:length]
	}
	return append(data, make([]byte, length-int64(len(data)))...)
}

// sectors splits a write as a disk does.
func (w write) sectors() (pieces []write) {
	if w.resize {
		return []write{w}
	}
	for at, rest := w.at, w.bytes; len(rest) > 0; {
		n := min(int64(len(rest)), sector-at%sector)
		pieces = append(pieces, write{at: at, bytes: rest[:n]})
		at, rest = at+n, rest[n:]
	}
	return pieces
}

func (m move) apply(entries map[string]*inode) {
	for name, child := range m {
		if child == nil {
			delete(entries, name)
		} else {
			entries[name] = child
		}
	}
}

func (i *inode) change(w write) {
	i.data = w.apply(i.data)
	i.writes = append(i.writes, w)
	i.modified = time.Now()
}

func (i *inode) rename(m move) {
	m.apply(i.entries)
	i.moves = append(i.moves, m)
	i.modified = time.Now()
}

// sync is an fsync: it makes this inode durable, and no other.
func (i *inode) sync() {
	if i.folder {
		i.durableEntries, i.moves = maps.Clone(i.entries), nil
		return
	}
	for _, w := range i.writes {
		i.durable = w.apply(i.durable)
	}
	i.writes = nil
}

// syncNames makes the names of a folder, and of all folders in it, durable.
func (i *inode) syncNames() {
	if i.folder {
		i.sync()
		for _, child := range i.entries {
			child.syncNames()
		}
	}
}
