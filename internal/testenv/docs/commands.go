package docs

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/payfold/payfold/internal/cli"
)

// usage is the language of printed code blocks, which list commands with their choices.
const usage = "usage"

var (
	quoted       = regexp.MustCompile(`(?:"[^"]*"|[^\s"])+`) // a word of a shell
	prompt       = regexp.MustCompile(`(?m)^\$ `)
	folderOfBin  = regexp.MustCompile(`^(?:bin|new|old)/`)
	afterCommand = regexp.MustCompile(` [#>|].*`) // a comment, or where the output goes
	placeholder  = regexp.MustCompile(`^[A-Z][A-Z_]*$`)
	substitutes  = map[string]string{"N": "1", "SEQ": "1", "TIME": "2026-01-31T12:00:00Z", "DATE": "2099-01-01", "SCHEMA": "portal_next", "NAME": "portal_next", "--provider NAME": "creem", "reconcile NAME": "stripe", "--url URL": "http://localhost"}
)

// CommandFaults lists every command of program in the documents that its command line does
// not accept. grammar returns an empty command line struct. CommandFaults sets and restores environment variables.
func (r *Repository) CommandFaults(program string, grammar func() any) ([]string, error) {
	model, err := kong.New(grammar(), kong.Name(program))
	if err != nil {
		return nil, err
	}
	var faults []string
	parsed := map[string]error{} // documents repeat commands
	for _, d := range r.documents {
		for _, c := range d.commands(program) {
			if c.isName(model.Model.Node) {
				continue
			}
			call := fmt.Sprintf("%q %q", c.variables, c.args)
			err, known := parsed[call]
			if !known {
				err = c.parse(program, grammar())
				parsed[call] = err
			}
			if err != nil {
				faults = append(faults, fmt.Sprintf("%s: %s %s: %v", c.where, program, strings.Join(c.args, " "), err))
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults), nil
}

// verifierKey is well formed. Commands that need one refuse any other text.
const verifierKey = "shop.example/payments+2a013f47+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"

// command is a call of a program in a document.
type command struct {
	where     string
	variables map[string]string
	args      []string
	inline    bool
}

// isName says whether inline code only names a command.
func (c command) isName(node *kong.Node) bool {
	for _, arg := range c.args {
		i := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == arg })
		if i < 0 {
			return false
		}
		node = node.Children[i]
	}
	return c.inline
}

// parse parses the command as the program does.
func (c command) parse(program string, grammar any) error {
	const secret = "whsec_of_the_documents"
	given := map[string]string{
		cli.SecretName: secret, "CREEM_WEBHOOK_SECRET": secret, "PAYFOLD_EVENT_SECRET": secret, "STRIPE_API_KEY": secret,
		cli.VerifierKeyName: verifierKey,
	}
	maps.Copy(given, c.variables)
	for name, value := range given {
		before, set := os.LookupEnv(name)
		if err := os.Setenv(name, value); err != nil {
			return err
		}
		defer func() {
			if !set {
				_ = os.Unsetenv(name)
			} else {
				_ = os.Setenv(name, before)
			}
		}()
	}
	if _, err := cli.Parse(grammar, program, "", c.args, io.Discard, io.Discard); err != nil && err != cli.ErrPrinted {
		return err
	}
	return nil
}

// commands lists the calls of program in a document.
func (d document) commands(program string) []command {
	var out []command
	for _, s := range d.spans {
		if c, ok := calls(program, s, s.text); ok {
			c.inline = true
			out = append(out, c)
		}
	}
	for _, b := range d.blocks {
		if b.language == usage {
			continue
		}
		for line := range strings.Lines(b.text) {
			if prompt.MatchString(b.text) != prompt.MatchString(line) {
				continue // output
			}
			line = prompt.ReplaceAllString(strings.TrimSpace(line), "")
			line = afterCommand.ReplaceAllString(line, "")
			if c, ok := calls(program, b.place, line); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// calls parses a line that calls program: variables, the program's name, arguments.
func calls(program string, at place, line string) (command, bool) {
	c := command{where: at.where, variables: map[string]string{}}
	words := quoted.FindAllString(line, -1)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], `"`, "")
	}
	for len(words) > 0 && assigned.MatchString(words[0]) {
		name, value, _ := strings.Cut(words[0], "=")
		c.variables[name] = value
		words = words[1:]
	}
	if len(words) == 0 || folderOfBin.ReplaceAllString(words[0], "") != program {
		return c, false
	}
	for i, arg := range words[1:] {
		if placeholder.MatchString(arg) {
			arg = cmp.Or(substitutes[words[i]+" "+arg], substitutes[arg], arg) // words[i] is the word before arg
		}
		c.args = append(c.args, arg)
	}
	return c, true
}
