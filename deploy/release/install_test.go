package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manager installs packages into a folder that is the root of their file system.
type manager struct {
	ending          string
	install, remove []string // their last argument is the package
	kept            string   // where a changed configuration file is after the removal
	pack            func(b *built, to string) (string, error)
}

var managers = []manager{
	{
		ending: ".deb", kept: "etc/payfold/ingest.env", pack: (*built).writeDeb,
		install: []string{"dpkg", "--root", "ROOT", "--force-depends", "--force-confold", "--install"},
		remove:  []string{"dpkg", "--root", "ROOT", "--remove"},
	},
	{
		ending: ".rpm", kept: "etc/payfold/ingest.env.rpmsave", pack: (*built).writeRPM,
		install: []string{"rpm", "--root", "ROOT", "--nodeps", "--nosignature", "--upgrade"},
		remove:  []string{"rpm", "--root", "ROOT", "--erase"},
	},
}

// A package is installed, replaced by a newer one, and removed, with its scripts.
func TestAPackageIsInstalledUpgradedAndRemoved(t *testing.T) {
	t.Parallel()
	newer := newerBuild(t)
	for _, m := range managers {
		t.Run(m.ending, func(t *testing.T) {
			root := emptyMachine(t)
			m.run(t, root, m.install, shared.file(t, m.ending))
			for name, mode := range modes {
				info, err := os.Stat(filepath.Join(root, name))
				require.NoError(t, err)
				require.Equal(t, mode, info.Mode().Perm(), name)
			}
			for _, program := range programs {
				require.Contains(t, asRoot(t, "chroot", root, "/usr/bin/"+program, "--version"), program+" v1.2.3, commit ")
			}
			require.Contains(t, content(t, root, "etc/passwd"), "payfold:x:")
			require.Contains(t, content(t, root, "etc/passwd"), ":/var/lib/payfold:/usr/sbin/nologin")

			add(t, root, "etc/payfold/ingest.env", "MAX_IN_FLIGHT=7\n")
			add(t, root, "var/lib/payfold/log/events", "events")
			dir := t.TempDir()
			upgrade, err := m.pack(newer, dir)
			require.NoError(t, err)
			m.run(t, root, m.install, filepath.Join(dir, upgrade))
			require.Contains(t, content(t, root, "etc/payfold/ingest.env"), "MAX_IN_FLIGHT=7\n")
			require.NotContains(t, content(t, root, "systemctl.calls"), "disable", "an upgrade stops nothing")

			m.run(t, root, m.remove, "payfold")
			require.Contains(t, content(t, root, "systemctl.calls"), " payfold-verify.timer payfold-console.service payfold-projector.service payfold-ingest.service\n", "what is enabled ends")
			require.NoFileExists(t, filepath.Join(root, "usr/bin/ingest"))
			require.NoFileExists(t, filepath.Join(root, "usr/lib/systemd/system/payfold-ingest.service"))
			require.Contains(t, content(t, root, m.kept), "MAX_IN_FLIGHT=7\n")
			require.Equal(t, "events", content(t, root, "var/lib/payfold/log/events"))
		})
	}
}

func (m manager) run(t *testing.T, root string, command []string, what string) {
	t.Helper()
	args := strings.Split(strings.ReplaceAll(strings.Join(command, "\n"), "ROOT", root), "\n")
	asRoot(t, args[0], append(args[1:], what)...)
}

// newerBuild is the release with a higher version.
func newerBuild(t *testing.T) *built {
	t.Helper()
	c, err := checkOut(shared.repository)
	require.NoError(t, err)
	t.Cleanup(c.remove)
	b, err := build(c, native())
	require.NoError(t, err)
	b.version = "1.2.4"
	return b
}

// asRoot runs a command as root, or as root of a namespace of its own.
func asRoot(t *testing.T, name string, args ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		name, args = "unshare", append([]string{"--map-root-user", name}, args...)
	}
	return command(t, name, args...)
}

// emptyMachine returns the root of a file system that has what the scripts need, and a systemctl that writes its
// arguments to systemctl.calls.
func emptyMachine(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, folder := range []string{"etc", "run/systemd/system", "var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
	}
	add(t, root, "var/lib/dpkg/status", "")
	for _, program := range []string{"/bin/sh", "/usr/bin/systemd-sysusers"} {
		files := []string{program}
		for _, word := range strings.Fields(command(t, "ldd", program)) {
			if strings.HasPrefix(word, "/") {
				files = append(files, word)
			}
		}
		for _, file := range files {
			require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
			command(t, "cp", "-L", file, filepath.Join(root, file))
		}
	}
	add(t, root, "usr/bin/systemctl", "#!/bin/sh\necho \"$@\" >>/systemctl.calls\n")
	require.NoError(t, os.Chmod(filepath.Join(root, "usr/bin/systemctl"), 0o755))
	return root
}

func add(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = file.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

func content(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}
