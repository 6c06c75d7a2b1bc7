package localpg

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// usualFolders are Debian's, which keeps them out of PATH, and Homebrew's.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// FindBinaries returns the folder with initdb and postgres: PG_BIN, which must
// be right if it is set; else the first of PATH, pg_config, and the newest in
// Debian's and Homebrew's folders. Its error says how to install them.
func FindBinaries() (binDir string, err error) {
	if dir := os.Getenv("PG_BIN"); dir != "" {
		if !hasBinaries(dir) {
			return "", fmt.Errorf("PG_BIN is %s, which has no initdb and postgres", dir)
		}
		return filepath.Abs(dir)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		// A link leads to the folder with all the programs, psql among them.
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
	return "", fmt.Errorf("no PostgreSQL server found (PG_BIN, PATH, pg_config, the usual folders); install it: %s",
		installCommand())
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

// newest returns the folder of the highest version that the pattern matches.
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

// installCommand is the one command for this machine.
func installCommand() string {
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	for _, manager := range []struct{ program, command string }{
		{"apt-get", "sudo apt-get install -y --no-install-recommends postgresql"},
		{"dnf", "sudo dnf install -y postgresql-server"},
		{"apk", "sudo apk add postgresql"},
		{"pacman", "sudo pacman -S --noconfirm postgresql"},
		{"zypper", "sudo zypper install -y postgresql-server"},
		{"brew", "brew install postgresql@17"},
	} {
		if _, err := exec.LookPath(manager.program); err == nil {
			return manager.command
		}
	}
	return "sudo apt-get install -y --no-install-recommends postgresql"
}
