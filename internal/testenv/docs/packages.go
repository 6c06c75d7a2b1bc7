package docs

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Packages returns a table of the packages that make up the programs: the first sentence of each package's
// documentation, up to a colon, and the names of the packages below it. It is an error if a package has no
// documentation.
func (r *Repository) Packages() (string, error) {
	about := map[string]string{}
	for file, text := range r.files {
		folder := path.Dir(file)
		if !strings.HasSuffix(file, ".go") || !strings.HasPrefix(file, "internal/") && !strings.HasPrefix(file, "cmd/") ||
			strings.HasPrefix(file, "internal/testenv/") || strings.HasPrefix(file, "internal/endtoend/") || r.files[folder+"/go.mod"] != "" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", err
		}
		about[folder] += (&doc.Package{}).Synopsis(parsed.Doc.Text())
	}
	out, below := "| package | what it does | below it |\n|---|---|---|\n", map[string][]string{}
	folders := slices.Sorted(maps.Keys(about))
	for _, folder := range folders {
		if above := path.Dir(folder); about[above] != "" {
			below[above] = append(below[above], "`"+path.Base(folder)+"`")
		}
	}
	for _, folder := range folders {
		if about[path.Dir(folder)] != "" {
			continue
		}
		sentence, _, _ := strings.Cut(strings.TrimSuffix(about[folder], "."), ": ")
		words := strings.SplitN(sentence, " ", 3) // "Package store keeps …", "Command ingest keeps …"
		if len(words) < 3 {
			return "", fmt.Errorf("%s has no package documentation", folder)
		}
		out += fmt.Sprintf("| `%s` | %s | %s |\n", strings.TrimPrefix(folder, "internal/"), words[2], strings.Join(below[folder], " "))
	}
	return out, nil
}

// Decisions returns a list of links to the records in docs/decisions, by their titles.
func (r *Repository) Decisions() string {
	out := ""
	for _, file := range slices.Sorted(maps.Keys(r.files)) {
		if strings.HasPrefix(file, "docs/decisions/") {
			title, _, _ := strings.Cut(strings.TrimPrefix(r.files[file], "# "), "\n")
			out += fmt.Sprintf("- [%s](%s)\n", title, file)
		}
	}
	return out
}

// Imports returns, for each folder of Go files, the folders and modules that it imports, without its tests.
func (r *Repository) Imports() map[string][]string {
	module := regexp.MustCompile(`(?m)^module (\S+)`).FindStringSubmatch(r.files["go.mod"])[1]
	out := map[string][]string{}
	for file, text := range r.files {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			continue // the compiler names it
		}
		for _, spec := range parsed.Imports {
			out[path.Dir(file)] = append(out[path.Dir(file)], strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"))
		}
	}
	return out
}
