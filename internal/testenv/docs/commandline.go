package docs

import (
	"cmp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/golden"
)

const commandLineFile = "../../docs/command-line.md"

// RequireCommandLine compares the command line of program with its usage in docs/command-line.md, and with the
// commands in all documents. grammar returns an empty command line struct. The test must be in a folder such as
// cmd/ingest, and it must not be parallel, because CommandFaults sets variables.
func RequireCommandLine(t *testing.T, program string, grammar func() any) {
	t.Helper()
	parser, err := kong.New(grammar(), kong.Name(program))
	require.NoError(t, err)
	golden.RequirePrinted(t, commandLineFile, program, "```usage\n"+usageOf(parser.Model.Node)+"```\n")
	repository, err := Open("../..")
	require.NoError(t, err)
	faults, err := repository.CommandFaults(program, grammar)
	require.NoError(t, err)
	require.Empty(t, faults)
}

// usageWidth bounds the lines of the usage.
const usageWidth = 110

// usageOf returns each command of a program with its arguments and its flags without a variable, and below it what
// the command does.
func usageOf(app *kong.Node) string {
	var out strings.Builder
	for _, leaf := range app.Leaves(true) {
		line, words := "", []string{leaf.FullPath()}
		for _, flag := range leaf.Flags {
			if len(flag.Envs) > 0 || flag.Name == "help" {
				continue
			}
			word := "--" + flag.Name
			if !flag.IsBool() {
				word += " " + cmp.Or(flag.PlaceHolder, strings.ToUpper(flag.Name))
			}
			words = append(words, bracketed(word, !flag.Required))
		}
		for _, arg := range leaf.Positional {
			word := strings.ToUpper(strings.ReplaceAll(arg.Name, "-", "_"))
			if arg.IsCumulative() {
				word = strings.TrimSuffix(word, "S") + "…"
			}
			words = append(words, bracketed(word, !arg.Required))
		}
		for _, word := range words {
			if len(line)+len(word) > usageWidth {
				out.WriteString(strings.TrimRight(line, " ") + "\n")
				line = "       "
			}
			line += word + " "
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n    " + leaf.Help + "\n")
	}
	return out.String()
}

func bracketed(word string, optional bool) string {
	if optional {
		return "[" + word + "]"
	}
	return word
}
