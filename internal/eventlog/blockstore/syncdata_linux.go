package blockstore

import (
	"errors"
	"os"
	"syscall"
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
