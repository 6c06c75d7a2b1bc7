package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	xmodule "golang.org/x/mod/module"
)

// modules returns the modules that a program contains, sorted, without payfold's own. A replaced
// module is the one that replaces it.
func (b *built) modules(program string) []xmodule.Version {
	var out []xmodule.Version
	for _, dependency := range b.infos[program].Deps {
		out = append(out, effective(dependency))
	}
	xmodule.Sort(out)
	return out
}

func effective(m *debug.Module) xmodule.Version {
	for m.Replace != nil {
		m = m.Replace
	}
	return xmodule.Version{Path: m.Path, Version: m.Version}
}

// allModules returns the modules of all programs, each once.
func (b *built) allModules() []xmodule.Version {
	set := map[xmodule.Version]bool{}
	for _, program := range programs {
		for _, module := range b.modules(program) {
			set[module] = true
		}
	}
	out := slices.Collect(maps.Keys(set))
	xmodule.Sort(out)
	return out
}

// licenceFile matches the files that a copy of a module has to bring along.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licences returns the licences of everything that the programs contain, with Go's own first.
func (b *built) licences() (string, error) {
	env, err := output(b.folder, nil, "go", "env", "GOROOT", "GOMODCACHE")
	if err != nil {
		return "", err
	}
	folders := strings.Fields(env)
	var text strings.Builder
	text.WriteString("ingest and projector contain the Go runtime and library, and the modules below.\n")
	if err := addLicences(&text, "Go", folders[0]); err != nil {
		return "", err
	}
	for _, module := range b.allModules() {
		path, err := xmodule.EscapePath(module.Path)
		if err != nil {
			return "", err
		}
		if err := addLicences(&text, module.String(), filepath.Join(folders[1], path+"@"+module.Version)); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

func addLicences(text *strings.Builder, name, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	found := false
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(text, "\n%s\n%s: %s\n%[1]s\n\n%[4]s\n", strings.Repeat("=", 80), name, entry.Name(), strings.TrimRight(string(content), "\n"))
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", name, folder)
	}
	return nil
}
