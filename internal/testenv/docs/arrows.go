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

// What a package's row of ARCHITECTURE.md may say instead of what it uses.
const (
	usesAnything = "any"
	usesNothing  = "no other package"
)

var (
	module     = regexp.MustCompile(`(?m)^module (\S+)`)
	packageRow = regexp.MustCompile("(?m)^\\| `((?:internal|cmd)/[^|]*)`.* \\| ([^|]*) \\|$")
)

// ArrowFaults compares the packages of internal, and what each imports of the others, with
// the table of packages in ARCHITECTURE.md.
func (r *Repository) ArrowFaults() []string {
	said := map[string]string{} // by package
	for _, row := range packageRow.FindAllStringSubmatch(r.files[architecture], -1) {
		for name := range strings.SplitSeq(row[1], "`, `") {
			said[name] = row[2]
		}
	}
	var faults []string
	for name, imported := range r.imports() {
		uses, ok := said[name]
		for folder := path.Dir(name); !ok && folder != "."; folder = path.Dir(folder) {
			uses = said[folder]
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

// imports are those of each package below internal among the others, without its tests.
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
