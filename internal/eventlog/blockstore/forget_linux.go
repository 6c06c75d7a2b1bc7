package blockstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget makes the kernel forget what it has of a file in memory. The next read reads the disk. Nothing is lost: the
// kernel keeps what it has not written yet.
func forget(path string) {
	if file, err := os.Open(path); err == nil {
		_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
		_ = file.Close()
	}
}
