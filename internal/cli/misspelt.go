package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// slips is how many letters may be wrong, missing or too many in a name that is probably misspelt. No two names of the
// programs are as close.
const slips = 2

// shortestName is the length of the shortest name that is compared. Shorter ones are alike by chance.
const shortestName = 8

// warnOfMisspelt logs each variable of the environment that the program does not read and whose name is nearly one that
// it reads. With CATALOG_FILE instead of CATALOGUE_FILE, for example, buyers' metadata would decide what is granted. It
// is no fault, because the variable can be another program's.
func warnOfMisspelt(program *kong.Node, parsed *kong.Context, stderr io.Writer) {
	known := variables(program)
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if len(name) < shortestName || slices.Contains(known, name) {
			continue
		}
		if at := slices.IndexFunc(known, func(one string) bool { return nearly(one, name) }); at >= 0 {
			warnings(parsed, stderr).Warn("a variable of the environment is not read; is it misspelt?", "variable", name, "similar", known[at])
		}
	}
}

// warnings returns a logger of warnings in the format that was asked for.
func warnings(parsed *kong.Context, stderr io.Writer) *slog.Logger {
	format := ""
	for _, flag := range parsed.Flags() {
		if flag.Name == "log-format" {
			format = fmt.Sprint(parsed.FlagValue(flag))
		}
	}
	return (&Common{LogFormat: format}).QuietLogger(stderr)
}

// variables lists the names of all variables that the program reads, whatever its command.
func variables(node *kong.Node) (names []string) {
	for _, flag := range node.Flags {
		names = append(names, flag.Envs...)
	}
	for _, child := range node.Children {
		names = append(names, variables(child)...)
	}
	return names
}

// nearly says whether at most slips letters of a must be added, removed or replaced to make b of it. distance takes far
// longer than the comparison of the lengths.
func nearly(a, b string) bool {
	return max(len(a)-len(b), len(b)-len(a)) <= slips && distance(a, b) <= slips
}

// distance returns how many letters must be added, removed or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // the distances of a[:i] to each b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
