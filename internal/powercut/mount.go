//go:build linux

package powercut

import (
	"fmt"
	"os"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount mounts the disk at dir until unmount is called. It needs /dev/fuse, and root or
// fusermount3.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	valid := time.Minute // all changes go through the kernel, so its cache stays valid
	server, err := fs.Mount(dir, &node{disk: d, file: d.root}, &fs.Options{
		EntryTimeout: &valid, AttrTimeout: &valid,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		MountOptions: fuse.MountOptions{DirectMount: os.Getuid() == 0, FsName: "powercut", Name: "powercut", MaxWrite: 1 << 20},
	})
	if err != nil {
		return nil, fmt.Errorf("mount a disk at %s: %w", dir, err)
	}
	return server.Unmount, nil
}
