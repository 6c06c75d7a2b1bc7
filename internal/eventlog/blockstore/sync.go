package blockstore

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/payfold/payfold/internal/durable"
)

// SyncAll makes all files and folders of the server durable, its settings included.
func (s *Store) SyncAll() error {
	root, err := filepath.EvalSymlinks(s.root) // WalkDir follows no link
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && (entry.IsDir() || entry.Type().IsRegular()) {
			err = durable.Sync(path)
		}
		return ignoreMissing(err) // the running server removes temporary files
	})
}

// ignoreMissing turns fs.ErrNotExist into nil.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
