package localpg

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrSocketFolder means that the folder for the socket belongs to another user. It is in /tmp,
// where any user can create it first.
var ErrSocketFolder = errors.New("the socket folder belongs to another user")

// port is only a part of the socket's name; no server listens on this TCP port.
const port = "5432"

// socketFolder returns the folder of a cluster's socket. It never changes, so the connection
// string does not change either. It is short, because a socket's path has at most 103 bytes
// on macOS.
func socketFolder(who account, cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return fmt.Sprintf("/tmp/payfold-%d-%x", who.uid, sum[:4])
}

// ensureSocketFolder creates the folder, or uses an existing one that belongs to the server's
// user. It opens the folder before it checks it, so that nobody can replace it in between.
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
		// This process (as root) has just created it, or an earlier one did and crashed here.
		if err := folder.Chown(who.uid, who.gid); err != nil {
			return err
		}
	}
	return folder.Chmod(0o700)
}
