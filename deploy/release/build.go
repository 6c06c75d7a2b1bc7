package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// programs are in cmd/, and each has a section in docs/command-line.md.
var programs = []string{"ingest", "projector"}

type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

func parseTarget(text string) (target, error) {
	system, arch, found := strings.Cut(text, "/")
	if !found {
		return target{}, fmt.Errorf("%q is no target such as linux/amd64", text)
	}
	return target{system, arch}, nil
}

// built has the programs of one target in bin/ of its commit.
type built struct {
	*commit
	target  target
	version string // as the programs tell it, without the v
	infos   map[string]*buildinfo.BuildInfo
}

// build builds the programs for a target. The variables are those of which the bytes of a Go program
// depend, and GOFLAGS, which the machine may set.
func build(c *commit, t target) (*built, error) {
	env := []string{
		"GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0",
		"GOFLAGS=-trimpath", "GOEXPERIMENT=", "GOWORK=off",
	}
	args := []string{"build", "-buildvcs=true", "-ldflags=-s -w", "-o", "bin/"}
	for _, program := range programs {
		args = append(args, "./cmd/"+program)
	}
	if _, err := output(c.folder, env, "go", args...); err != nil {
		return nil, err
	}
	b := &built{commit: c, target: t, infos: map[string]*buildinfo.BuildInfo{}}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(b.program(program))
		if err != nil {
			return nil, err
		}
		b.infos[program], b.version = info, strings.TrimPrefix(info.Main.Version, "v")
	}
	if b.version == "(devel)" || strings.Contains(b.version, "+dirty") {
		return nil, fmt.Errorf("go gives the programs the version %s: a release needs one of git", b.version)
	}
	return b, nil
}

func (b *built) program(name string) string { return b.path(filepath.Join("bin", name)) }

// name returns the name of a file of the release.
func (b *built) name(extension string) string {
	return fmt.Sprintf("payfold_%s_%s_%s%s", b.version, b.target.os, b.target.arch, extension)
}

// create writes a file of the release, and returns its name.
func (b *built) create(to, extension string, write func(io.Writer) error) (name string, err error) {
	name = b.name(extension)
	file, err := os.Create(filepath.Join(to, name))
	if err != nil {
		return "", err
	}
	return name, errors.Join(write(file), file.Close())
}
