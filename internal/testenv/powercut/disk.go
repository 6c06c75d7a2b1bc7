package powercut

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Disk is a disk in memory. Safe for concurrent use.
type Disk struct {
	mu      sync.Mutex
	root    *inode
	numbers atomic.Uint64

	changes   int64 // writes, creations, moves and fsyncs until the cut; 0 if none is planned
	off       bool
	cut       chan struct{} // closed by the cut
	free      int64         // bytes that can still be written; below 0: any number
	failSyncs bool
	failNext  string // the next fsync of a file with this suffix fails; empty: none does
	ignored   string // fsyncs of files with this suffix make nothing durable; empty: none is ignored
	journal   bool   // each fsync makes all names durable
}

// New returns an empty disk.
func New() *Disk {
	return newDisk(&inode{
		folder: true, mode: 0o755, entries: map[string]*inode{}, durableEntries: map[string]*inode{},
	})
}

func newDisk(root *inode) *Disk {
	return &Disk{root: root, cut: make(chan struct{}), free: -1}
}

// CutAfter cuts the power at the n-th change from now. That change is not made. The cut
// closes the channel.
func (d *Disk) CutAfter(n int64) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = n
	return d.cut
}

// Limit sets how many bytes can still be written; below 0: any number.
func (d *Disk) Limit(free int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = free
}

// FailSyncs makes every fsync fail from now on, or no longer. A failed fsync makes nothing durable. As on Linux, the
// writes that it should have made durable can still be read, and a later fsync does not make them durable, either.
func (d *Disk) FailSyncs(fail bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failSyncs = fail
}

// FailNextSync makes the next fsync of a file whose name has the suffix fail, as FailSyncs does. Those after it succeed.
func (d *Disk) FailNextSync(suffix string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failNext = suffix
}

// IgnoreSyncs makes each fsync of a file whose name has the suffix succeed without making
// anything durable.
func (d *Disk) IgnoreSyncs(suffix string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ignored = suffix
}

// Journal makes the disk keep names in order, as the journals of ext4 and XFS do: each fsync also makes durable what the
// folders have at that time. After a cut, either all later changes of names are there or none.
func (d *Disk) Journal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.journal = true
}

// Hang makes every operation wait until goOn is called. Until then even a killed process that
// waits for one does not end, and no other method may be called.
func (d *Disk) Hang() (goOn func()) {
	d.mu.Lock()
	return d.mu.Unlock
}

// inspect runs an operation that changes nothing.
func (d *Disk) inspect(f func() syscall.Errno) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return syscall.EIO
	}
	return f()
}

// change runs an operation that changes something, unless the power is cut first.
func (d *Disk) change(f func() syscall.Errno) syscall.Errno {
	return d.inspect(func() syscall.Errno {
		if d.changes > 0 {
			if d.changes--; d.changes == 0 {
				d.off = true
				close(d.cut)
				return syscall.EIO
			}
		}
		return f()
	})
}

func (d *Disk) write(i *inode, w write) syscall.Errno {
	if d.free >= 0 && !w.resize {
		if d.free < int64(len(w.bytes)) {
			return syscall.ENOSPC
		}
		d.free -= int64(len(w.bytes))
	}
	i.change(w)
	return 0
}

func (d *Disk) sync(i *inode, name string) syscall.Errno {
	next := d.failNext != "" && strings.HasSuffix(name, d.failNext)
	if next {
		d.failNext = ""
	}
	if next || d.failSyncs {
		i.writes = nil
		return syscall.EIO
	}
	if d.ignored != "" && strings.HasSuffix(name, d.ignored) {
		return 0
	}
	i.sync()
	if d.journal {
		d.root.syncNames()
	}
	return 0
}
