//go:build linux

package powercut

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount mounts the disk at dir until unmount is called. It needs /dev/fuse, and root or
// fusermount3.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	valid := time.Minute // all changes go through the kernel, so its cache stays valid
	root := os.Getuid() == 0
	if root { // no process begins before keepFromPrograms; fusermount3 is a process
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	server, err := fs.Mount(dir, &node{disk: d, file: d.root}, &fs.Options{
		EntryTimeout: &valid, AttrTimeout: &valid,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		MountOptions: fuse.MountOptions{DirectMount: root, FsName: "powercut", Name: "powercut", MaxWrite: 1 << 20},
	})
	if err != nil {
		return nil, fmt.Errorf("mount a disk at %s: %w", dir, err)
	}
	if err := keepFromPrograms(); err != nil {
		return nil, errors.Join(err, server.Unmount())
	}
	return server.Unmount, nil
}

// keepFromPrograms keeps programs that are started from inheriting the files with which this process serves its disks.
// With such a file, a program on a disk whose server was killed would wait for ever, and could not be killed.
func keepFromPrograms() error {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, file := range files {
		number, err := strconv.Atoi(file.Name())
		if err != nil {
			return err
		}
		if to, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && to == "/dev/fuse" {
			syscall.CloseOnExec(number)
		}
	}
	return nil
}
