package localpg

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrSocketFolder means that the folder for the socket, in /tmp where anyone may
// make it first, is not a folder of the server's user.
var ErrSocketFolder = errors.New("socket folder is not ours")

// port only names the socket; nothing listens on it.
const port = "5432"

// socketFolder is the same for every start of a cluster, so that its connection
// string is too, and short: a socket's path has at most 103 bytes on macOS.
func socketFolder(who account, cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return fmt.Sprintf("/tmp/payfold-%d-%x", who.uid, sum[:4])
}

// ensureSocketFolder makes the folder, or takes the one that is there if it
// belongs to the server's user. What it checks is what it opened, never a name
// that could be swapped in between.
func ensureSocketFolder(path string, who account) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSocketFolder, err)
	}
	defer folder.Close()
	info, err := folder.Stat()
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner != who.uid && owner != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to user %d", ErrSocketFolder, path, owner)
	}
	if owner != who.uid {
		// Made by root a moment ago, or before a crash at this point.
		if err := folder.Chown(who.uid, who.gid); err != nil {
			return err
		}
	}
	return folder.Chmod(0o700)
}
