package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// document is a file of an archive or a package that is no program.
type document struct {
	name string
	text []byte
}

// documents returns what belongs to the programs, wherever they are.
func (b *built) documents() ([]document, error) {
	var out []document
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(b.path(name))
		if err != nil {
			return nil, err
		}
		out = append(out, document{name, text})
	}
	licences, err := b.licences()
	if err != nil {
		return nil, err
	}
	return append(out, document{"THIRD-PARTY-LICENSES", []byte(licences)}), nil
}

// writeArchive writes a .tar.gz with the programs, their man pages and the documents.
func (b *built) writeArchive(to string) (string, error) {
	return b.create(to, ".tar.gz", func(file io.Writer) error {
		packed := gzip.NewWriter(file)
		archive := tar.NewWriter(packed)
		return errors.Join(b.fill(archive, b.name("")), archive.Close(), packed.Close())
	})
}

func (b *built) fill(archive *tar.Writer, folder string) error {
	documents, err := b.documents()
	if err != nil {
		return err
	}
	pages, err := b.manPages()
	if err != nil {
		return err
	}
	for _, program := range programs {
		content, err := os.ReadFile(b.program(program))
		if err != nil {
			return err
		}
		if err := b.add(archive, folder, document{program, content}, 0o755); err != nil {
			return err
		}
	}
	for _, document := range append(documents, pages...) {
		if err := b.add(archive, folder, document, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (b *built) add(archive *tar.Writer, folder string, d document, mode int64) error {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: folder + "/" + d.name, Mode: mode, Size: int64(len(d.text)), ModTime: b.time,
		Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(d.text)
	return err
}

// writeSums writes SHA256SUMS, which sha256sum -c reads.
func writeSums(to string, files []string) error {
	var lines strings.Builder
	for _, name := range files {
		sum, err := sumOf(filepath.Join(to, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(to, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
