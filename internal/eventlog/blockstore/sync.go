package blockstore

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/payfold/payfold/internal/durable"
)

// SyncAll makes all files of the server durable, its settings included.
func (s *Store) SyncAll() error { return syncTree(s.root) }

// syncTree makes dir and everything below it durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && (entry.IsDir() || entry.Type().IsRegular()) {
			err = durable.Sync(path)
		}
		return ignoreMissing(err)
	})
}

// syncPath makes the names of all folders above dir durable. It skips a folder that this
// process may not read, because another user created it.
func syncPath(dir string) error {
	dir, err := filepath.Abs(dir)
	for parent := filepath.Dir(dir); err == nil && parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if err = durable.Sync(parent); errors.Is(err, fs.ErrPermission) {
			err = nil
		}
	}
	return err
}

// ignoreMissing turns fs.ErrNotExist into nil: the running server removes temporary files.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
