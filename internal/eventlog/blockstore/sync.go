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

// ignoreMissing turns fs.ErrNotExist into nil: the running server removes temporary files.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
