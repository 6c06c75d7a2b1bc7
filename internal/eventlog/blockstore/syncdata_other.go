//go:build !linux

package blockstore

import "os"

// SyncData makes a file durable.
func SyncData(file *os.File) error { return file.Sync() }
