// Command release builds a release from what is committed in a repository: for each target an archive, an
// SBOM and, for Linux, packages; the chart for Kubernetes; and SHA256SUMS over all of them. The same commit
// and the same Go give the same bytes, in any folder and at any time.
//
//	go run . [-repository DIR] [-to DIR] OS/ARCH…
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
)

func main() {
	repository := flag.String("repository", "../..", "the repository whose commit is released")
	to := flag.String("to", "../../dist", "the folder for the files, which must not exist")
	flag.Parse()
	if err := run(*repository, *to, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(repository, to string, names []string) error {
	if len(names) == 0 {
		return errors.New("no target is given, such as linux/amd64")
	}
	var targets []target
	for _, name := range names {
		one, err := parseTarget(name)
		if err != nil {
			return err
		}
		targets = append(targets, one)
	}
	return release(repository, to, targets)
}

// release makes the folder to and writes the files of the repository's commit into it.
func release(repository, to string, targets []target) error {
	commit, err := checkOut(repository)
	if err != nil {
		return err
	}
	defer commit.remove()
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	var files []string
	var version string
	for _, target := range targets {
		built, err := build(commit, target)
		if err != nil {
			return fmt.Errorf("build %s: %w", target, err)
		}
		written, err := built.write(to)
		if err != nil {
			return fmt.Errorf("release %s: %w", target, err)
		}
		files, version = append(files, written...), built.version
	}
	chart, err := commit.writeChart(to, version)
	if err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	files = append(files, chart)
	slices.Sort(files)
	return writeSums(to, files)
}

// write writes all files of the target, and returns their names.
func (b *built) write(to string) ([]string, error) {
	writers := []func(*built, string) (string, error){(*built).writeArchive, (*built).writeBOM}
	if b.target.os == "linux" {
		writers = append(writers, (*built).writeDeb, (*built).writeRPM)
	}
	var files []string
	for _, write := range writers {
		file, err := write(b, to)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
