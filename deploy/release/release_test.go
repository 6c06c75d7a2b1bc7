package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// released is a release of the files as they are now, with a tag, for this machine's architecture.
type released struct {
	repository string
	folder     string
}

const tag = "v1.2.3"

var shared released

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "payfold-release-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		shared = released{filepath.Join(dir, "repository"), filepath.Join(dir, "dist")}
		if err := commitFiles(shared.repository); err != nil {
			panic(err)
		}
		if err := release(shared.repository, shared.folder, []target{native()}); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

func native() target { return target{"linux", runtime.GOARCH} }

// commitFiles makes a repository of the files as they are now, whether they are committed or not.
func commitFiles(folder string) error {
	files, err := output("../..", nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return err
	}
	for name := range strings.Lines(files) {
		name = strings.TrimSpace(name)
		text, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	who := []string{
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@localhost", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@localhost",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "all files"}, {"tag", tag}} {
		if _, err := output(folder, who, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// file returns the path of the only file of the release with that ending.
func (r released) file(t *testing.T, ending string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.folder, "*"+ending))
	require.NoError(t, err)
	require.Len(t, found, 1, ending)
	return found[0]
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

// The second build is in another folder, of another clone, at another time, and with another umask.
func TestTheSameCommitGivesTheSameBytes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	clone, again := filepath.Join(t.TempDir(), "elsewhere", "clone"), filepath.Join(t.TempDir(), "again")
	command(t, "git", "clone", "-q", shared.repository, clone)
	require.NoError(t, release(clone, again, []target{native()}))
	first, err := os.ReadDir(shared.folder)
	require.NoError(t, err)
	second, err := os.ReadDir(again)
	require.NoError(t, err)
	require.Len(t, second, len(first))
	for _, file := range first {
		one, err := sumOf(filepath.Join(shared.folder, file.Name()))
		require.NoError(t, err)
		other, err := sumOf(filepath.Join(again, file.Name()))
		require.NoError(t, err)
		require.Equal(t, one, other, file.Name())
	}
}

func TestAReleaseHasAllFilesAndTheirSums(t *testing.T) {
	t.Parallel()
	arch := runtime.GOARCH
	var names []string
	entries, err := os.ReadDir(shared.folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.ElementsMatch(t, []string{
		"SHA256SUMS", "payfold_1.2.3_linux_" + arch + ".tar.gz", "payfold_1.2.3_linux_" + arch + ".cdx.json",
		"payfold_1.2.3_linux_" + arch + ".deb", "payfold_1.2.3_linux_" + arch + ".rpm", "payfold-1.2.3.tgz",
	}, names)
	check := exec.Command("sha256sum", "--strict", "-c", "SHA256SUMS")
	check.Dir = shared.folder
	out, err := check.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, len(names)-1, strings.Count(string(out), ": OK"))
}

func TestTheArchiveHasProgramsThatRun(t *testing.T) {
	t.Parallel()
	file, err := os.Open(shared.file(t, ".tar.gz"))
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	dir, files, archive := t.TempDir(), map[string]int64{}, tar.NewReader(unpacked)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Equal(t, "2026-01-02 03:04:05", header.ModTime.UTC().Format("2006-01-02 15:04:05"))
		folder, name := filepath.Split(header.Name)
		require.Equal(t, "payfold_1.2.3_linux_"+runtime.GOARCH+"/", folder)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, os.FileMode(header.Mode)))
		files[name] = header.Mode
	}
	require.Equal(t, map[string]int64{
		"ingest": 0o755, "projector": 0o755, "ingest.1": 0o644, "projector.1": 0o644,
		"LICENSE": 0o644, "THIRD-PARTY-LICENSES": 0o644, "README.md": 0o644, "CHANGELOG.md": 0o644,
	}, files)
	for _, program := range programs {
		require.Regexp(t, "^"+program+" v1.2.3, commit [0-9a-f]{40}, go1", command(t, filepath.Join(dir, program), "--version"))
	}
	licences, err := os.ReadFile(filepath.Join(dir, "THIRD-PARTY-LICENSES"))
	require.NoError(t, err)
	for _, name := range []string{"Go: LICENSE", "github.com/nats-io/nats-server/v2@", "github.com/jackc/pgx/v5@"} {
		require.Contains(t, string(licences), name)
	}
}

func TestTheBOMNamesWhatIsInThePrograms(t *testing.T) {
	t.Parallel()
	file, err := os.Open(shared.file(t, ".cdx.json"))
	require.NoError(t, err)
	defer file.Close()
	var bom cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom))
	require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, bom.SerialNumber)
	require.Equal(t, "2026-01-02T03:04:05Z", bom.Metadata.Timestamp)
	parts := map[string]cyclonedx.Component{}
	for _, component := range *bom.Components {
		require.NotContains(t, parts, component.BOMRef)
		parts[component.BOMRef] = component
	}
	for _, of := range *bom.Dependencies {
		for _, ref := range *of.Dependencies {
			require.Contains(t, parts, ref)
		}
	}
	dir := t.TempDir()
	command(t, "dpkg-deb", "-x", shared.file(t, ".deb"), dir)
	for _, program := range programs {
		sum, err := sumOf(filepath.Join(dir, "usr/bin", program))
		require.NoError(t, err)
		require.Equal(t, []cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}}, *parts[program].Hashes)
		for line := range strings.Lines(command(t, "go", "version", "-m", filepath.Join(dir, "usr/bin", program))) {
			if fields := strings.Fields(line); fields[0] == "dep" {
				require.Contains(t, parts, purl(fields[1], fields[2]))
			}
		}
	}
	require.Contains(t, parts, "pkg:golang/stdlib@"+strings.TrimPrefix(runtime.Version(), "go"))
}

func TestTheChartHasTheVersionOfTheRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command(t, "tar", "-xzf", shared.file(t, ".tgz"), "-C", dir)
	about := content(t, dir, "payfold/Chart.yaml")
	require.Contains(t, about, "\nversion: 1.2.3\n")
	require.Contains(t, about, "appVersion: 1.2.3\n")
	for _, file := range []string{"values.yaml", "values.schema.json", "templates/single.yaml"} {
		want, err := os.ReadFile("../helm/payfold/" + file)
		require.NoError(t, err)
		require.Equal(t, string(want), content(t, dir, "payfold/"+file))
	}
	rules, err := os.ReadFile("../monitoring/rules.yaml")
	require.NoError(t, err)
	require.Equal(t, string(rules), content(t, dir, "payfold/files/rules.yaml"))
}

func TestWhatHasNoVersionOfGitIsNotReleased(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, release(t.TempDir(), filepath.Join(t.TempDir(), "dist"), []target{native()}), "git clone")
}

func TestAReleaseHasEveryProgram(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("../../cmd")
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, programs, names)
}

func TestATargetThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run("../..", t.TempDir(), []string{"linux"}), `"linux" is no target`)
	require.ErrorContains(t, run("../..", t.TempDir(), nil), "no target is given")
}
