//go:build !linux

package eventlog

import "os"

func syncData(file *os.File) error { return file.Sync() }
