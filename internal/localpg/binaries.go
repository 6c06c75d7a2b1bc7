package localpg

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// usualFolders are the folders of Debian, which are not in PATH, and the folders of Homebrew.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// Binaries returns the folder with initdb and postgres. If PG_BIN is set, it must be that
// folder. Otherwise Binaries looks in PATH, asks pg_config, and takes the newest version
// in Debian's and Homebrew's folders.
func Binaries() (binDir string, err error) {
	if dir := os.Getenv("PG_BIN"); dir != "" {
		if !hasBinaries(dir) {
			return "", fmt.Errorf("PG_BIN is %s, which has no initdb and postgres", dir)
		}
		return filepath.Abs(dir)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		// A link in PATH points to the folder with all programs, such as psql.
		if target, err := filepath.EvalSymlinks(path); err == nil && hasBinaries(filepath.Dir(target)) {
			path = target
		}
		if hasBinaries(filepath.Dir(path)) {
			return filepath.Abs(filepath.Dir(path))
		}
	}
	if output, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(output)); hasBinaries(dir) {
			return dir, nil
		}
	}
	for _, pattern := range usualFolders {
		if dir, ok := newest(pattern); ok {
			return dir, nil
		}
	}
	return "", errors.New("no PostgreSQL server found (PG_BIN, PATH, pg_config, the usual folders); set DATABASE_URL or PG_BIN, " +
		"or install it, on Debian: sudo apt-get install -y --no-install-recommends postgresql")
}

func hasBinaries(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

var versionInPath = regexp.MustCompile(`postgresql[@/](\d+)`)

// newest returns the folder with the highest version among those that match the pattern.
func newest(pattern string) (string, bool) {
	dirs, _ := filepath.Glob(pattern)
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !hasBinaries(dir) })
	if len(dirs) == 0 {
		return "", false
	}
	version := func(dir string) int {
		found := versionInPath.FindStringSubmatch(dir)
		if found == nil {
			return 0 // Homebrew's plain "postgresql"
		}
		number, _ := strconv.Atoi(found[1])
		return number
	}
	return slices.MaxFunc(dirs, func(a, b string) int { return cmp.Compare(version(a), version(b)) }), true
}
