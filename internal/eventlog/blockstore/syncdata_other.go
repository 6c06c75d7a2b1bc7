//go:build !linux

package blockstore

import "os"

func syncData(file *os.File) error { return file.Sync() }
