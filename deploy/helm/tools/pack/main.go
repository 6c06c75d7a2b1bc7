// Command pack writes a chart as helm package does, with the version of a release. The same chart, version and
// time give the same bytes.
//
//	go run ./pack -version 1.2.3 -time 2026-01-02T03:04:05Z [-to DIR] CHART
package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

func main() {
	version := flag.String("version", "", "of the chart and of payfold")
	at := flag.String("time", "", "of all files (RFC 3339)")
	to := flag.String("to", ".", "the folder for the archive")
	flag.Parse()
	if err := run(flag.Args(), *version, *at, *to); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(charts []string, version, at, to string) error {
	if len(charts) != 1 {
		return errors.New("name the folder of one chart")
	}
	modified, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return err
	}
	return pack(charts[0], version, modified.UTC(), to)
}

// pack writes NAME-VERSION.tgz into the folder to.
func pack(folder, version string, modified time.Time, to string) error {
	chart, err := loader.LoadDir(folder)
	if err != nil {
		return err
	}
	chart.Metadata.Version, chart.Metadata.AppVersion = version, version
	dir, err := os.MkdirTemp("", "payfold-chart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	saved, err := chartutil.Save(chart, dir)
	if err != nil {
		return err
	}
	return setTimes(saved, filepath.Join(to, filepath.Base(saved)), modified)
}

// setTimes copies an archive in which all files have one time: Helm gives them that of the day.
func setTimes(from, to string, modified time.Time) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	unpacked, err := gzip.NewReader(source)
	if err != nil {
		return err
	}
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	packed := gzip.NewWriter(target)
	packed.Extra, packed.Comment = unpacked.Extra, unpacked.Comment
	archive := tar.NewWriter(packed)
	if err := copyFiles(archive, tar.NewReader(unpacked), modified); err != nil {
		return err
	}
	return errors.Join(archive.Close(), packed.Close())
}

func copyFiles(to *tar.Writer, from *tar.Reader, modified time.Time) error {
	for {
		header, err := from.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		err = to.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: header.Name, Mode: header.Mode, Size: header.Size, ModTime: modified, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
	}
}
