package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The private folder holds the socket of the embedded log, and for the TCP listener
// a key and its certificate. Only the user that ingest runs as may enter it.
func privatePath(dataDir string) string { return filepath.Join(dataDir, "nats") }

const (
	socketName      = "socket"
	certificateName = "cert.pem"
	keyName         = "key.pem"
)

// errUntrusted: what is there may be somebody else's. Nothing is sent to it.
var errUntrusted = errors.New("not trusted")

// private is the folder, open: what was checked is what is used, whatever becomes of
// its name.
type private struct {
	*os.File
	path string
}

// makePrivate makes the folder where it is missing, and closes it to others.
func makePrivate(dataDir string) (*private, error) {
	path := privatePath(dataDir)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the private folder: %w", err)
	}
	p, _, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	if err := p.Chmod(0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("close the private folder to others: %w", err), p.Close())
	}
	return p, nil
}

// openPrivate opens the folder for a reader: nobody else can have put anything there.
func openPrivate(dataDir string) (*private, error) {
	p, mode, err := openFolder(privatePath(dataDir))
	if err != nil {
		return nil, err
	}
	if mode&0o022 != 0 {
		p.Close()
		return nil, fmt.Errorf("%w: others may write to %s (mode %04o); chmod 700 it", errUntrusted, p.path, mode)
	}
	return p, nil
}

// openFolder refuses a folder of another user, and a link to one.
func openFolder(path string) (*private, fs.FileMode, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil, 0, fmt.Errorf("%w: %s is not a folder", errUntrusted, path)
	case errors.Is(err, fs.ErrPermission):
		return nil, 0, fmt.Errorf("%w; run ingest and the readers of its log as one user", err)
	case err != nil:
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil {
		err = trust(path, owner(info))
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return &private{file, path}, info.Mode().Perm(), nil
}

// trust refuses whatever belongs to another user than this process's own and root.
func trust(what string, uid int) error {
	if own := os.Geteuid(); uid != own && uid != 0 {
		return fmt.Errorf("%w: %s belongs to user %d, this process runs as user %d; run ingest and the readers of its log as one user",
			errUntrusted, what, uid, own)
	}
	return nil
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// secret refuses a file that others made or could read.
func secret(file string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%w: others may use %s (mode %04o)", errUntrusted, file, mode)
	}
	return trust(file, owner(info))
}

// maxSocketPath is that of macOS; other systems take a little more.
const maxSocketPath = 103

// shortPath is a path of a file in folder that fits into a socket's address. It is
// good until release is called.
func shortPath(folder, file string) (path string, release func(), err error) {
	if path = filepath.Join(folder, file); len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return "", nil, err
	}
	own, err := os.MkdirTemp("", "payfold-") // closed to others
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
