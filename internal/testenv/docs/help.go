package docs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/payfold/payfold/internal/cli"
)

// HelpFaults lists what is missing in --help of each command: a flag, its default or
// variable, an argument, a subcommand, the exit statuses.
func HelpFaults(program string, grammar func() any) ([]string, error) {
	model, err := kong.New(grammar(), kong.Name(program))
	if err != nil {
		return nil, err
	}
	var faults []string
	err = kong.Visit(model.Model, func(visited kong.Visitable, next kong.Next) error {
		var node *kong.Node
		switch visited := visited.(type) {
		case *kong.Application:
			node = visited.Node
		case *kong.Node:
			node = visited
		default:
			return nil
		}
		help, err := helpOf(program, grammar(), node)
		if err != nil {
			return err
		}
		for _, want := range wanted(node) {
			if !strings.Contains(help, want) {
				faults = append(faults, fmt.Sprintf("%s --help lacks %s", node.FullPath(), want))
			}
		}
		return next(nil)
	})
	return faults, err
}

// helpOf returns the help with single spaces between words.
func helpOf(program string, grammar any, node *kong.Node) (string, error) {
	var out bytes.Buffer
	args := append(commandsOf(node), "--help")
	if _, err := cli.Parse(grammar, program, "", args, &out, io.Discard); !errors.Is(err, cli.ErrPrinted) {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.Join(strings.Fields(out.String()), " "), nil
}

// commandsOf returns the words that call a command.
func commandsOf(node *kong.Node) []string {
	if node.Type == kong.ApplicationNode {
		return nil
	}
	return append(commandsOf(node.Parent), node.Name)
}

// wanted lists what the help of a command must contain.
func wanted(node *kong.Node) []string {
	out := []string{"Exit status:"}
	for _, flags := range node.AllFlags(false) {
		for _, flag := range flags {
			out = append(out, "--"+flag.Name)
			for _, name := range flag.Envs {
				out = append(out, "$"+name+"]")
			}
			if !flag.IsBool() && flag.Default != "" && flag.Default != "0" {
				out = append(out, "[default "+flag.Default)
			}
		}
	}
	for _, argument := range node.Positional {
		out = append(out, argument.Summary()+" "+argument.Help)
	}
	for _, child := range node.Leaves(false) {
		if child != node {
			out = append(out, strings.Join(commandsOf(child), " "))
		}
	}
	return out
}
