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

	"github.com/payfold/payfold/internal/durable"
)

// sharedHome holds the clusters of data folders that root uses and that no other user can
// reach, such as folders in /root.
const sharedHome = "/var/lib/payfold"

// locate returns the path of the cluster, which may not exist yet. The path of an existing
// cluster never changes, even if a folder above it becomes unreachable, because otherwise a
// changed mode would lead to a new, empty database.
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
	if err := durable.Replace(record, place+"\n"); err != nil {
		return "", err
	}
	return place, makeHome()
}

func makeHome() error {
	if err := os.MkdirAll(sharedHome, 0o755); err != nil {
		return err
	}
	return os.Chmod(sharedHome, 0o755) // MkdirAll depends on the umask
}

// reaches returns an error if the account cannot enter the folder. It does not judge by mode
// bits but runs a harmless program there as that user.
func reaches(ctx context.Context, who account, binaries, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	probe := command(who, filepath.Join(binaries, "postgres"), "--version")
	probe.Dir = dir
	return probe.Run()
}
