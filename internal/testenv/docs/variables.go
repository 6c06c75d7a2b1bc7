package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/testenv/golden"
)

const configurationFile = "../../docs/configuration.md"

// shared has the variables of both programs.
type shared struct {
	cli.Common
	cli.ArchiveFlags
	cli.CatalogueFlag
	cli.VerifierFlags
	cli.APIFlags
}

// RequirePrintedVariables compares the variables of a program with its tables in docs/configuration.md: those of
// both programs, the signing secrets, its own, and those of the console. The test must be in a folder such as cmd/ingest.
func RequirePrintedVariables(t *testing.T, program string, grammar any) {
	t.Helper()
	both, all := variablesOf(t, &shared{}), variablesOf(t, grammar)
	secrets := variablesOf(t, &struct{ cli.SecretFlags }{})
	has := func(flags []*kong.Flag, name string) bool {
		return slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Envs[0] == name })
	}
	var own, console []*kong.Flag
	for _, flag := range all {
		switch name := flag.Envs[0]; {
		case has(both, name) || has(secrets, name):
		case strings.HasPrefix(name, "CONSOLE_"):
			console = append(console, flag)
		default:
			own = append(own, flag)
		}
	}
	golden.RequirePrinted(t, configurationFile, "both programs", rowsOf(both))
	golden.RequirePrinted(t, configurationFile, program, rowsOf(own))
	if len(console) > 0 {
		golden.RequirePrinted(t, configurationFile, "console", rowsOf(console))
	}
	current := slices.DeleteFunc(secrets, func(f *kong.Flag) bool { return !strings.HasSuffix(f.Envs[0], "_SECRET") })
	golden.RequirePrinted(t, configurationFile, "signing secrets", rowsOf(current)+
		"| `…_PREVIOUS`, `…_FILE`, `…_PREVIOUS_FILE` |  | With any of these names: the secret before it, accepted during a rotation; a file with the one or the other. |\n")
}

// variablesOf returns the flags with a variable, each variable once.
func variablesOf(t *testing.T, grammar any) (flags []*kong.Flag) {
	t.Helper()
	parser, err := kong.New(grammar)
	require.NoError(t, err)
	known := map[string]bool{}
	for _, node := range append(parser.Model.Leaves(true), parser.Model.Node) {
		for _, flag := range node.Flags {
			if len(flag.Envs) > 0 && !known[flag.Envs[0]] {
				known[flag.Envs[0]] = true
				flags = append(flags, flag)
			}
		}
	}
	return flags
}

// rowsOf returns a table of variables. One that names a file for another variable shares its row.
func rowsOf(flags []*kong.Flag) string {
	out := "| variable | default | |\n|---|---|---|\n"
	for i, flag := range flags {
		name := flag.Envs[0]
		if i > 0 && name == flags[i-1].Envs[0]+"_FILE" {
			continue
		}
		names, standard := "`"+name+"`", ""
		if i+1 < len(flags) && flags[i+1].Envs[0] == name+"_FILE" {
			names += ", `" + name + "_FILE`"
		}
		if flag.Default != "" && flag.Default != "0" {
			standard = "`" + flag.Default + "`"
		}
		out += fmt.Sprintf("| %s | %s | %s |\n", names, standard, strings.ReplaceAll(flag.Help, "|", `\|`))
	}
	return out
}
