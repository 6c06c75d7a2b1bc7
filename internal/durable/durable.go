// Package durable writes files and folders so that they survive a power cut.
//
// An fsync of a file does not make its name durable; an fsync of its folder does. The name of a
// folder is in the folder above it.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Sync makes the bytes of a file, or the names in a folder, durable.
func Sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written to it
	return file.Sync()
}

// SyncPath makes the names of all folders above path, and its own, durable. If there are links in path, these are the
// folders to which they lead. It skips a folder that this process may not read, because another user created it, and
// one whose file system cannot be changed.
func SyncPath(path string) error {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	for parent := filepath.Dir(path); err == nil && parent != path; path, parent = parent, filepath.Dir(parent) {
		if err = Sync(parent); errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
			err = nil
		}
	}
	return err
}

// Create writes a new file. Its bytes are durable when Create returns nil, its name after a Sync
// of its folder. It fails with fs.ErrExist if there is anything of that name. After any other
// error there is no such file.
func Create(path, text string, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Replace creates a file or replaces its text. After a crash or an error the file has the whole
// text, or is as it was before. Only its owner can read it. It is durable when Replace returns nil.
// Only one process may replace a file at a time, because Replace uses the name path.new, and
// removes whatever has that name.
func Replace(path, text string) error {
	if err := replace(path, text); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(path, text string) error {
	temporary := path + ".new"
	// A killed process may have left it, or another user may have made a link there. Create follows no link.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := Create(temporary, text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return Sync(filepath.Dir(path))
}
