package docs

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

const architecture = "ARCHITECTURE.md"

// A package's row in ARCHITECTURE.md may have one of these instead of a list of packages.
const (
	usesAnything = "any"
	usesNothing  = "no other package"
)

var (
	module     = regexp.MustCompile(`(?m)^module (\S+)`)
	packageRow = regexp.MustCompile("(?m)^\\| `((?:internal|cmd)/[^|]*)`.* \\| ([^|]*) \\|$")
)

// ArrowFaults compares the packages in internal and their imports of each other with the
// table of packages in ARCHITECTURE.md.
func (r *Repository) ArrowFaults() []string {
	documented := map[string]string{} // what each package uses
	for _, row := range packageRow.FindAllStringSubmatch(r.files[architecture], -1) {
		for name := range strings.SplitSeq(row[1], "`, `") {
			documented[name] = row[2]
		}
	}
	var faults []string
	for name, imported := range r.imports() {
		uses, ok := documented[name]
		for folder := path.Dir(name); !ok && folder != "."; folder = path.Dir(folder) {
			uses = documented[folder]
			ok = uses == usesAnything
		}
		actual := cmp.Or(strings.Join(imported, ", "), usesNothing)
		switch {
		case !ok:
			faults = append(faults, fmt.Sprintf("%s has no row for %s", architecture, name))
		case uses != actual && uses != usesAnything:
			faults = append(faults, fmt.Sprintf("%s: %s uses %s, not %s", architecture, name, actual, uses))
		}
	}
	slices.Sort(faults)
	return faults
}

// imports lists, for each package in internal, the other packages in internal that it
// imports, without the imports of its tests.
func (r *Repository) imports() map[string][]string {
	out := map[string][]string{}
	within := regexp.MustCompile(`"` + regexp.QuoteMeta(module.FindStringSubmatch(r.files["go.mod"])[1]) + `/internal/([^"]+)"`)
	for file, text := range r.files {
		if !strings.HasPrefix(file, "internal/") || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		list := out[path.Dir(file)]
		for _, match := range within.FindAllStringSubmatch(text, -1) {
			list = append(list, match[1])
		}
		out[path.Dir(file)] = list
	}
	for name, list := range out {
		slices.Sort(list)
		out[name] = slices.Compact(list)
	}
	return out
}
