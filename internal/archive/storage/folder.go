package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/durable"
)

// Folder is a Place in the file system.
type Folder struct{ Root string }

// String implements Place.
func (f *Folder) String() string { return f.Root }

func (f *Folder) path(name string) string { return filepath.Join(f.Root, filepath.FromSlash(name)) }

// List implements Place.
func (f *Folder) List(_ context.Context, folder string) (out []string, err error) {
	entries, err := os.ReadDir(f.path(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() == (folder == "") && !strings.HasPrefix(entry.Name(), ".") && entry.Name() != lostAndFound {
			out = append(out, entry.Name())
		}
	}
	return out, nil
}

// lostAndFound is in the root of many file systems. Only root may read it.
const lostAndFound = "lost+found"

// The names of temporary files begin with temporaryPrefix.
const temporaryPrefix = ".new-"

// temporaryAge is the age from which a temporary file counts as left by a killed process.
const temporaryAge = time.Hour

// nameInstead replaces the path of a temporary file in an error. That path is new each time, and a fault that lasts is
// logged once, as long as its text is the same.
func nameInstead(err error, prefix, path string) {
	fault := new(fs.PathError)
	if errors.As(err, &fault) && strings.HasPrefix(filepath.Base(fault.Path), prefix) {
		fault.Path = path
	}
}

// Create implements Place. A hard link gives the whole file its name, and fails if the name is
// taken.
func (f *Folder) Create(_ context.Context, name string, write func(io.Writer) error) (err error) {
	path := f.path(name)
	defer func() { nameInstead(err, temporaryPrefix, path) }()
	dir := filepath.Dir(path)
	if _, err := os.Lstat(path); err == nil {
		return ErrExists
	}
	if err := makeFolder(dir); err != nil {
		return err
	}
	removeTemporary(dir)
	file, err := os.CreateTemp(dir, temporaryPrefix+"*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return ErrExists
	} else if link := new(os.LinkError); errors.As(err, &link) {
		return fmt.Errorf("the archive's file system must have hard links: link %s: %w", path, link.Err)
	}
	return durable.Sync(dir)
}

// makeFolder creates dir and the folders above it durably. Bodies are personal data, so only
// this user may read them.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // if it cannot be used, the next change says why
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return durable.SyncPath(dir)
}

// removeTemporary removes temporary files that killed processes have left.
func removeTemporary(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, temporaryPrefix+"*")) // fails on other patterns only
	copies, _ := filepath.Glob(filepath.Join(dir, "*.seg.new"))       // of writeAgain
	for _, path := range append(left, copies...) {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > temporaryAge {
			_ = os.Remove(path)
		}
	}
}

// Open implements Place.
func (f *Folder) Open(_ context.Context, name string) (Object, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return openFile{file, info.Size()}, nil
}

type openFile struct {
	*os.File
	size int64
}

func (f openFile) Size() int64 { return f.size }

// Sync implements Place. It includes the names of the folder and of those above it: a process that was
// killed may have made them.
func (f *Folder) Sync(_ context.Context, folder string, objects ...string) error {
	for _, name := range objects {
		object := filepath.Join(f.path(folder), name)
		if err := durable.Sync(object); errors.Is(err, fs.ErrNotExist) {
			return err
		} else if err != nil {
			return errors.Join(err, writeAgain(object))
		}
	}
	return errors.Join(durable.Sync(f.path(folder)), durable.SyncPath(f.path(folder)))
}

// writeAgain replaces a file by a copy of itself. After a failed fsync, Linux keeps the bytes in memory and counts them
// as written: the next fsync would succeed, and nothing would be durable.
func writeAgain(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return durable.Replace(path, string(text))
}

// Remove implements Place.
func (f *Folder) Remove(_ context.Context, name string) error {
	path := f.path(name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.Sync(filepath.Dir(path))
}
