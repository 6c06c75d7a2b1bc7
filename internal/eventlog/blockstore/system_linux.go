package blockstore

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SyncData makes a file's bytes and its length durable. It does not sync the file's times,
// which would cost a second write.
func SyncData(file *os.File) error {
	for {
		if err := syscall.Fdatasync(int(file.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// forget makes the kernel forget what it has of a file in memory. The next read reads the disk. Nothing is lost: the
// kernel keeps what it has not written yet.
func forget(path string) {
	if file, err := os.Open(path); err == nil {
		_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
		_ = file.Close()
	}
}

// lostByDisk are the errors of a disk or a file system that does not have any more what was written.
var lostByDisk = []error{syscall.EIO, syscall.EUCLEAN, syscall.EBADMSG, syscall.ENODATA}
