package powercut

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Disk is one disk. Safe for concurrent use.
type Disk struct {
	mu      sync.Mutex
	root    *inode
	numbers atomic.Uint64

	changes  int64 // writes, creations, moves and fsyncs until the cut; 0 if none is planned
	dead     bool
	cut      chan struct{} // closed by the cut
	room     int64         // bytes that can still be written; below 0: any number
	syncFail error         // of every fsync
	ignored  string        // fsyncs of files with this suffix keep nothing; empty: none is ignored
}

// New returns an empty disk.
func New() *Disk {
	return newDisk(&inode{
		folder: true, mode: 0o755, entries: map[string]*inode{}, durableEntries: map[string]*inode{},
	})
}

func newDisk(root *inode) *Disk {
	return &Disk{root: root, cut: make(chan struct{}), room: -1}
}

// CutAfter cuts the power at the n-th change from now. That change is not made any more, and
// the channel is closed.
func (d *Disk) CutAfter(n int64) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = n
	return d.cut
}

// Limit lets that many bytes be written from now on; below 0, any number.
func (d *Disk) Limit(room int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// FailSyncs makes every fsync from now on fail, and make nothing durable.
func (d *Disk) FailSyncs() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncFail = syscall.EIO
}

// IgnoreSyncs makes each fsync of a file whose name has the suffix succeed without making
// anything durable.
func (d *Disk) IgnoreSyncs(suffix string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ignored = suffix
}

// look runs an operation that changes nothing.
func (d *Disk) look(f func() syscall.Errno) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return syscall.EIO
	}
	return f()
}

// change runs an operation that changes something, unless the power is cut first.
func (d *Disk) change(f func() syscall.Errno) syscall.Errno {
	return d.look(func() syscall.Errno {
		if d.changes > 0 {
			if d.changes--; d.changes == 0 {
				d.dead = true
				close(d.cut)
				return syscall.EIO
			}
		}
		return f()
	})
}

func (d *Disk) write(i *inode, w write) syscall.Errno {
	if d.room >= 0 && !w.resize {
		if d.room < int64(len(w.bytes)) {
			return syscall.ENOSPC
		}
		d.room -= int64(len(w.bytes))
	}
	i.change(w)
	return 0
}

func (d *Disk) sync(i *inode, name string) syscall.Errno {
	if d.syncFail != nil {
		return syscall.EIO
	}
	if d.ignored != "" && strings.HasSuffix(name, d.ignored) {
		return 0
	}
	i.sync()
	return 0
}
