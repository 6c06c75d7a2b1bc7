package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/payfold/payfold/internal/durable"
)

// The private folder holds the socket of the embedded log, and a key and a certificate for
// the TCP listener. Only the user that runs ingest may enter it.
func privatePath(dataDir string) string { return filepath.Join(dataDir, "nats") }

// ErrUntrusted means that another user may own or have changed a file, a folder or a server.
// Nothing is sent to it.
var ErrUntrusted = errors.New("not trusted")

// private is the open folder. On Linux, files are reached through it, so a folder that is moved or
// replaced after the check is never used.
type private struct {
	*os.File
	path string
}

// makePrivate creates the folder if it is missing, and closes it to other users.
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

// openPrivate opens the folder for a reader. It refuses a folder in which another user
// could have written.
func openPrivate(dataDir string) (*private, error) {
	p, mode, err := openFolder(privatePath(dataDir))
	if err != nil {
		return nil, err
	}
	if mode&0o022 != 0 {
		p.Close()
		return nil, fmt.Errorf("%w: others may write to %s (mode %04o); set its mode to 700", ErrUntrusted, p.path, mode)
	}
	return p, nil
}

// openFolder refuses a folder that belongs to another user, and a symbolic link.
func openFolder(path string) (*private, fs.FileMode, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil, 0, fmt.Errorf("%w: %s is not a folder", ErrUntrusted, path)
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

// trust returns ErrUntrusted if the owner is neither this process's user nor root.
func trust(what string, uid int) error {
	if own := os.Geteuid(); uid != own && uid != 0 {
		return fmt.Errorf("%w: %s belongs to user %d, this process runs as user %d; run ingest and the readers of its log as one user",
			ErrUntrusted, what, uid, own)
	}
	return nil
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// secret refuses a file that another user owns or could read.
func secret(file string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%w: others may use %s (mode %04o)", ErrUntrusted, file, mode)
	}
	return trust(file, owner(info))
}

// writeFile replaces the whole file, or leaves it as it is. Only its owner can read it.
// Only one process may write it at a time.
func writeFile(file, text string) error { return durable.Replace(file, text+"\n") }

func readTrimmed(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
