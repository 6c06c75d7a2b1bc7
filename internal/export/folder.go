package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/payfold/payfold/internal/durable"
)

// Folder is where an export is written. Until Publish its name is that of the export and ".partial".
type Folder struct {
	path, partial string
	lock          *os.File // the folder itself; the kernel frees the lock of a killed process
}

// NewFolder makes the folder of an export, which must not be there yet, or be empty. It removes what a killed export to
// the same folder has left. The caller must call Close.
func NewFolder(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := checkEmpty(path); err != nil {
		return nil, err
	}
	f := &Folder{path: path, partial: path + ".partial"}
	if err := os.Mkdir(f.partial, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder of the export: %w", err)
	}
	f.lock, err = os.OpenFile(f.partial, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the export: %w", err)
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.lock.Close()
		return nil, fmt.Errorf("another export writes %s: %w", f.partial, err)
	}
	if err := f.clear(); err != nil {
		_ = f.lock.Close()
		return nil, err
	}
	return f, nil
}

// checkEmpty returns an error if there is anything but an empty folder.
func checkEmpty(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the folder of the export: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is there already and is no folder", path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("look into the folder of the export: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name a new folder for each export", path)
	}
	return nil
}

// clear removes the files of an earlier export, and refuses files of any other name.
func (f *Folder) clear() error {
	entries, err := os.ReadDir(f.partial)
	if err != nil {
		return fmt.Errorf("look into the folder of the export: %w", err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !isOurs(entry.Name()) {
			return fmt.Errorf("%s has a %s, which no export has written: remove that folder, or name another one",
				f.partial, entry.Name())
		}
	}
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(f.partial, entry.Name())); err != nil {
			return fmt.Errorf("remove what an export has left: %w", err)
		}
	}
	return nil
}

// create makes a file of the export. Only its owner can read it, because it has personal data.
func (f *Folder) create(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(f.partial, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// publish gives the folder its name. All its files must be durable.
func (f *Folder) publish() error {
	if err := durable.Sync(f.partial); err != nil {
		return fmt.Errorf("sync the folder of the export: %w", err)
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return fmt.Errorf("replace the empty folder: %w", err)
	}
	if err := os.Rename(f.partial, f.path); err != nil {
		return fmt.Errorf("name the folder of the export: %w", err)
	}
	return durable.Sync(filepath.Dir(f.path))
}

// Close removes the folder unless it was published.
func (f *Folder) Close() {
	if here, err := os.Stat(f.partial); err == nil {
		if locked, err := f.lock.Stat(); err == nil && os.SameFile(here, locked) {
			_ = f.clear()
			_ = os.Remove(f.partial)
		}
	}
	_ = f.lock.Close()
}
