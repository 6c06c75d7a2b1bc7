package access

import (
	"os"
	"path/filepath"
)

// maxSocketPath is the limit of macOS; other systems allow a little more.
const maxSocketPath = 103

// shortPath returns a path of the file that is short enough for a socket's address. The
// path is valid until release is called. Linux does not need it; see socket_linux.go.
func shortPath(folder, file string) (path string, release func(), err error) {
	if path = filepath.Join(folder, file); len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return "", nil, err
	}
	own, err := os.MkdirTemp("", "payfold-") // no other user may enter it
	if err != nil {
		return "", nil, err
	}
	release = func() { _ = os.RemoveAll(own) }
	link := filepath.Join(own, "d")
	if err := os.Symlink(folder, link); err != nil {
		release()
		return "", nil, err
	}
	return filepath.Join(link, file), release, nil
}
