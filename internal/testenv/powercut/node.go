//go:build linux

package powercut

import (
	"bytes"
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node shows an inode to the kernel.
type node struct {
	fs.Inode
	disk *Disk
	file *inode
}

var (
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeLinker    = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

// show returns the kernel's inode for a file. The lock is held.
func (n *node) show(ctx context.Context, i *inode, out *fuse.EntryOut) *fs.Inode {
	if i.number == 0 {
		i.number = 1 + n.disk.numbers.Add(1)
	}
	i.attributes(&out.Attr)
	return n.NewInode(ctx, &node{disk: n.disk, file: i}, fs.StableAttr{Mode: i.kind(), Ino: i.number})
}

func (i *inode) kind() uint32 {
	if i.folder {
		return syscall.S_IFDIR
	}
	return syscall.S_IFREG
}

func (i *inode) attributes(out *fuse.Attr) {
	out.Mode, out.Size, out.Nlink = i.kind()|i.mode, uint64(len(i.data)), 1
	out.SetTimes(nil, &i.modified, &i.modified)
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (found *fs.Inode, errno syscall.Errno) {
	errno = n.disk.inspect(func() syscall.Errno {
		child := n.file.entries[name]
		if child == nil {
			return syscall.ENOENT
		}
		found = n.show(ctx, child, out)
		return 0
	})
	return found, errno
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.disk.inspect(func() syscall.Errno {
		n.file.attributes(&out.Attr)
		return 0
	})
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.disk.change(func() syscall.Errno {
		if mode, ok := in.GetMode(); ok {
			n.file.mode = mode & 0o7777
		}
		if size, ok := in.GetSize(); ok {
			if errno := n.disk.write(n.file, write{at: int64(size), resize: true}); errno != 0 {
				return errno
			}
		}
		n.file.attributes(&out.Attr)
		return 0
	})
}

func (n *node) Readdir(context.Context) (stream fs.DirStream, errno syscall.Errno) {
	errno = n.disk.inspect(func() syscall.Errno {
		var entries []fuse.DirEntry
		for name, child := range n.file.entries {
			entries = append(entries, fuse.DirEntry{Name: name, Mode: child.kind()})
		}
		stream = fs.NewListDirStream(entries)
		return 0
	})
	return stream, errno
}

func (n *node) make(ctx context.Context, name string, i *inode, out *fuse.EntryOut) (made *fs.Inode, errno syscall.Errno) {
	errno = n.disk.change(func() syscall.Errno {
		n.file.rename(move{name: i})
		made = n.show(ctx, i, out)
		return 0
	})
	return made, errno
}

func (n *node) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	made, errno := n.make(ctx, name, &inode{mode: mode & 0o7777}, out)
	return made, nil, 0, errno
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.make(ctx, name, &inode{folder: true, mode: mode & 0o7777, entries: map[string]*inode{}}, out)
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return n.disk.change(func() syscall.Errno {
		n.file.rename(move{name: nil})
		return 0
	})
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.disk.change(func() syscall.Errno {
		if len(n.file.entries[name].entries) > 0 {
			return syscall.ENOTEMPTY
		}
		n.file.rename(move{name: nil})
		return 0
	})
}

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, _ uint32) syscall.Errno {
	return n.disk.change(func() syscall.Errno {
		target, child := to.(*node).file, n.file.entries[name]
		if target == n.file {
			n.file.rename(move{name: nil, newName: child})
			return 0
		}
		target.rename(move{newName: child})
		n.file.rename(move{name: nil})
		return 0
	})
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (made *fs.Inode, errno syscall.Errno) {
	errno = n.disk.change(func() syscall.Errno {
		file := target.(*node).file
		if n.file.entries[name] != nil {
			return syscall.EEXIST
		}
		n.file.rename(move{name: file})
		made = n.show(ctx, file, out)
		return 0
	})
	return made, errno
}

func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, n.disk.inspect(func() syscall.Errno { return 0 })
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, buffer []byte, at int64) (result fuse.ReadResult, errno syscall.Errno) {
	errno = n.disk.inspect(func() syscall.Errno {
		length := int64(len(n.file.data))
		read := copy(buffer, n.file.data[min(at, length):])
		result = fuse.ReadResultData(buffer[:read])
		return 0
	})
	return result, errno
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	return uint32(len(data)), n.disk.change(func() syscall.Errno {
		return n.disk.write(n.file, write{at: at, bytes: bytes.Clone(data)})
	})
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	name, _ := n.Parent() // not under the disk's lock, because it takes a lock of the FUSE library
	return n.disk.change(func() syscall.Errno { return n.disk.sync(n.file, name) })
}

// Statfs always reports free space. The limit shows only in the error of a write.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const blocks = 64 << 20
	*out = fuse.StatfsOut{Bsize: 4096, Frsize: 4096, Blocks: blocks, Bfree: blocks, Bavail: blocks, Files: blocks, Ffree: blocks, NameLen: 255}
	return 0
}
