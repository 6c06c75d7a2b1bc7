//go:build !linux

package blockstore

import (
	"os"
	"syscall"
)

// SyncData makes a file durable.
func SyncData(file *os.File) error { return file.Sync() }

func forget(string) {}

// lostByDisk are the errors of a disk that does not have any more what was written.
var lostByDisk = []error{syscall.EIO}
