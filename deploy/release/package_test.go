package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// modes are those of all files of a package.
var modes = map[string]fs.FileMode{
	"usr/bin/ingest":    0o755,
	"usr/bin/projector": 0o755,
	"usr/lib/systemd/system/payfold-ingest.service":        0o644,
	"usr/lib/systemd/system/payfold-projector.service":     0o644,
	"usr/lib/systemd/system/payfold-reconcile@.service":    0o644,
	"usr/lib/systemd/system/payfold-reconcile@.timer":      0o644,
	"usr/lib/systemd/system/payfold-backup.service":        0o644,
	"usr/lib/systemd/system/payfold-backup.timer":          0o644,
	"usr/lib/systemd/system/payfold-console.service":       0o644,
	"usr/lib/systemd/system/payfold-restore-drill.service": 0o644,
	"usr/lib/systemd/system/payfold-restore-drill.timer":   0o644,
	"usr/lib/systemd/system/payfold-verify.service":        0o644,
	"usr/lib/systemd/system/payfold-verify.timer":          0o644,
	"usr/lib/sysusers.d/payfold.conf":                      0o644,
	"etc/payfold/ingest.env":                               0o600,
	"etc/payfold/projector.env":                            0o600,
	"etc/payfold/console.env":                              0o600,
	"etc/payfold/secrets.env":                              0o600,
	"usr/share/man/man1/ingest.1":                          0o644,
	"usr/share/man/man1/projector.1":                       0o644,
	"usr/share/doc/payfold/copyright":                      0o644,
	"usr/share/doc/payfold/THIRD-PARTY-LICENSES":           0o644,
	"usr/share/doc/payfold/README.md":                      0o644,
	"usr/share/doc/payfold/CHANGELOG.md":                   0o644,
	"usr/share/payfold/roles.sql":                          0o644,
	"usr/share/payfold/alertmanager.yml":                   0o644,
	"usr/share/payfold/rules.yaml":                         0o644,
	"usr/share/payfold/first-event.json":                   0o644,
}

func TestTheDebHasItsFilesWithTheirModesAndTheProgramsRun(t *testing.T) {
	t.Parallel()
	deb, dir := shared.file(t, ".deb"), t.TempDir()
	command(t, "dpkg-deb", "-x", deb, dir)
	found := map[string]fs.FileMode{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		if entry.IsDir() {
			require.Zero(t, info.Mode().Perm()&0o022, path)
			return nil
		}
		name, err := filepath.Rel(dir, path)
		found[name] = info.Mode().Perm()
		return err
	}))
	require.Equal(t, modes, found)
	for line := range strings.Lines(command(t, "dpkg-deb", "-c", deb)) {
		require.Contains(t, line, " root/root ")
	}
	for _, program := range programs {
		require.Regexp(t, "^"+program+" v1.2.3, commit ", command(t, filepath.Join(dir, "usr/bin", program), "--version"))
	}
}

func TestTheDebNamesItsConfigurationAndWhatItNeeds(t *testing.T) {
	t.Parallel()
	deb, control := shared.file(t, ".deb"), t.TempDir()
	command(t, "dpkg-deb", "-e", deb, control)
	require.Equal(t, "1.2.3\n", command(t, "dpkg-deb", "-f", deb, "Version"))
	require.Equal(t, "systemd\n", command(t, "dpkg-deb", "-f", deb, "Depends"))
	conffiles, err := os.ReadFile(filepath.Join(control, "conffiles"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"/etc/payfold/console.env", "/etc/payfold/ingest.env", "/etc/payfold/projector.env", "/etc/payfold/secrets.env"}, strings.Fields(string(conffiles)))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		command(t, "sh", "-n", filepath.Join(control, script))
		info, err := os.Stat(filepath.Join(control, script))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, script)
	}
}

func TestTheRPMHasTheSameFilesAndModes(t *testing.T) {
	t.Parallel()
	found := map[string]fs.FileMode{}
	list := command(t, "rpm", "-qp", "--nosignature", "--queryformat", `[%{FILEMODES:octal} %{FILEUSERNAME} %{FILEFLAGS:fflags}. %{FILENAMES}\n]`, shared.file(t, ".rpm"))
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		require.Len(t, fields, 4, line)
		require.Equal(t, "root", fields[1])
		require.Equal(t, strings.HasPrefix(fields[3], "/etc/"), fields[2] == "cn.", "a configuration file is kept: %s", line)
		var mode fs.FileMode
		for _, digit := range fields[0][len(fields[0])-4:] {
			mode = mode<<3 | fs.FileMode(digit-'0')
		}
		found[strings.TrimPrefix(fields[3], "/")] = mode
	}
	require.Equal(t, modes, found)
	require.Equal(t, "payfold 1.2.3 Apache-2.0 payfold", command(t, "rpm", "-qp", "--nosignature", "--queryformat", "%{NAME} %{VERSION} %{LICENSE} %{BUILDHOST}", shared.file(t, ".rpm")))
}

// systemd reads the units where the package has put them, with the programs that they start.
func TestSystemdTakesTheUnitsOfThePackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command(t, "dpkg-deb", "-x", shared.file(t, ".deb"), dir)
	units, err := filepath.Glob(filepath.Join(dir, "usr/lib/systemd/system/payfold-*"))
	require.NoError(t, err)
	require.NotEmpty(t, units)
	// systemd looks for the programs that a unit starts.
	for _, program := range []string{"bin/pg_dump", "bin/pg_restore", "bin/sh", "bin/install", "sbin/runuser"} {
		path := filepath.Join(dir, "usr", program)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o755))
	}
	require.NoError(t, os.Symlink("usr/bin", filepath.Join(dir, "bin")))
	args := []string{"verify", "--man=no", "--recursive-errors=no", "--root=" + dir}
	for _, unit := range units {
		args = append(args, strings.Replace(filepath.Base(unit), "@.", "@stripe.", 1))
	}
	out := command(t, "systemd-analyze", args...)
	require.NotContains(t, out, "payfold-")
}

// Each variable that an example sets or names exists.
func TestTheExamplesOfTheEnvironmentNameWhatExists(t *testing.T) {
	t.Parallel()
	for name, titles := range map[string][]string{
		"ingest": {"Both programs", "ingest"}, "projector": {"Both programs", "projector"}, "console": {"Both programs", "projector", "The console"}, "secrets": {"Signing secrets", "Both programs"},
	} {
		text, err := os.ReadFile("../packages/" + name + ".env")
		require.NoError(t, err)
		page, err := os.ReadFile("../../docs/configuration.md")
		require.NoError(t, err)
		names := regexp.MustCompile(`(?m)^#?([A-Z_]+)=`).FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, names)
		documented := ""
		for _, title := range titles {
			documented += section(string(page), title)
		}
		for _, name := range names {
			if !strings.HasPrefix(name[1], "AWS_") {
				require.Contains(t, documented, "`"+name[1]+"`")
			}
		}
	}
}

func TestAManPageHasEveryCommandAndVariable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command(t, "dpkg-deb", "-x", shared.file(t, ".deb"), dir)
	for program, texts := range map[string][]string{
		"ingest":    {"ingest send [--provider NAME] [--id ID] [--url URL] [--salvaged] FILE...", "ingest healthcheck [--live]", "PROVIDER_WEBHOOK_SECRET", "LOG_KEEP", "(default: ./data)", "the answer is no", "/etc/payfold/ingest.env"},
		"projector": {"projector status [--json]", "projector verify", "LEASE_TIME", "DATA_DIR", "the answer is no", "/etc/payfold/projector.env"},
	} {
		page, err := os.ReadFile(filepath.Join(dir, "usr/share/man/man1", program+".1"))
		require.NoError(t, err)
		plain := strings.NewReplacer(`\-`, "-", `\&`, "").Replace(string(page))
		for _, text := range texts {
			require.Contains(t, plain, text)
		}
		require.NotContains(t, plain, "](")
		require.NotContains(t, plain, "`")
		help := command(t, filepath.Join(dir, "usr/bin", program), "--help")
		for _, listed := range regexp.MustCompile(`(?m)^  ([a-z]+(?:-[a-z]+)*) `).FindAllStringSubmatch(help, -1) {
			require.Contains(t, plain, program+" "+listed[1], "the page lacks a command")
			flags := command(t, filepath.Join(dir, "usr/bin", program), listed[1], "--help")
			for _, variable := range regexp.MustCompile(`\$([A-Z_]+)`).FindAllStringSubmatch(flags, -1) {
				require.Contains(t, plain, strings.TrimSuffix(strings.TrimSuffix(variable[1], "_FILE"), "_PREVIOUS"), "the page lacks a variable")
			}
		}
	}
}
