package localpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sharedHome holds the clusters of root's data folders that lie where no other
// user can go, such as under /root.
const sharedHome = "/var/lib/payfold"

// locate returns the path of the cluster, which may not exist yet. Once a
// cluster exists its place is settled, whatever becomes of the folders above
// it: a changed mode must not look like an empty database.
func locate(ctx context.Context, dir, binaries string, who account) (string, error) {
	inside, record := filepath.Join(dir, "postgres"), filepath.Join(dir, "postgres.location")
	if err := reaches(ctx, who, binaries, "/"); err != nil {
		return "", fmt.Errorf("user %d cannot run %s: %w", who.uid, filepath.Join(binaries, "postgres"), err)
	}
	recorded, err := os.ReadFile(record)
	if err == nil {
		place := strings.TrimSpace(string(recorded))
		if filepath.Dir(place) != sharedHome {
			return "", fmt.Errorf("%s names %q, which is not a folder in %s", record, place, sharedHome)
		}
		return place, makeHome()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	reachable := reaches(ctx, who, binaries, dir)
	if reachable == nil {
		return inside, nil
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if _, err := os.Lstat(inside); err == nil || !who.other {
		return "", fmt.Errorf("user %d cannot reach %s: %w", who.uid, inside, reachable)
	}
	place := filepath.Join(sharedHome, strings.ToLower(rand.Text()[:16]))
	if err := writeFile(record, place+"\n"); err != nil {
		return "", err
	}
	return place, makeHome()
}

func makeHome() error {
	if err := os.MkdirAll(sharedHome, 0o755); err != nil {
		return err
	}
	return os.Chmod(sharedHome, 0o755) // whatever the umask was
}

// reaches asks the kernel rather than the mode bits: it runs a harmless program
// as the account in that folder.
func reaches(ctx context.Context, who account, binaries, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	probe := command(who, filepath.Join(binaries, "postgres"), "--version")
	probe.Dir = dir
	return probe.Run()
}

// writeFile puts content at path, readable by its owner only, in one step: after
// a crash there is all of it or what was there before.
func writeFile(path, content string) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // does nothing after the rename
	_, err = file.WriteString(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
