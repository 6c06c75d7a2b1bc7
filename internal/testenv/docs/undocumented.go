package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// These documents have a line for every flag and for every variable.
const (
	commandLine   = "docs/command-line.md"
	configuration = "docs/configuration.md"
)

// undocumented lists the variables without a line in configuration.md, and the commands and
// other flags that are in no usage block of command-line.md.
func (r *Repository) undocumented(program string, node *kong.Node) []string {
	var out []string
	for _, flag := range node.Flags { // the flags of the program itself
		if flag.Name != "help" && !strings.Contains(r.files[commandLine], "`--"+flag.Name+"`") {
			out = append(out, fmt.Sprintf("%s lacks `--%s` of %s", commandLine, flag.Name, program))
		}
	}
	for _, leaf := range node.Leaves(false) {
		words := strings.Fields(leaf.FullPath())
		listed := r.listed(program, words[1:])
		if listed == nil {
			out = append(out, fmt.Sprintf("%s lacks %s", commandLine, leaf.FullPath()))
		}
		for _, flag := range leaf.Flags {
			if len(flag.Envs) == 0 && flag.Name != "help" && !slices.Contains(listed, "--"+flag.Name) {
				out = append(out, fmt.Sprintf("%s lacks %s --%s", commandLine, leaf.FullPath(), flag.Name))
			}
			for _, name := range flag.Envs {
				out = append(out, r.configurationFaults(leaf.FullPath(), name, flag.Default)...)
			}
		}
	}
	return out
}

// signingSecret matches the variables of a provider's secret. One row is for all four.
var signingSecret = regexp.MustCompile(`^([A-Z]+_(?:WEBHOOK|EVENT)_SECRET)(?:_PREVIOUS)?(?:_FILE)?$`)

// configurationFaults checks that configuration.md has rows for a variable, and its default
// in one of them.
func (r *Repository) configurationFaults(command, name, defaultValue string) []string {
	name = signingSecret.ReplaceAllString(name, "$1")
	rows := ""
	for line := range strings.Lines(r.files[configuration]) {
		if strings.HasPrefix(line, "|") && strings.Contains(line, "`"+name+"`") {
			rows += line
		}
	}
	switch {
	case rows == "":
		return []string{fmt.Sprintf("%s lacks %s of %s", configuration, name, command)}
	case defaultValue != "" && defaultValue != "0" && !strings.Contains(rows, "`"+defaultValue+"`"):
		return []string{fmt.Sprintf("%s lacks the default %s of %s", configuration, defaultValue, name)}
	}
	return nil
}

// listed returns all words of the usage lines of a command; nil if there is none.
func (r *Repository) listed(program string, path []string) []string {
	var out []string
	for _, d := range r.documents {
		if d.path != commandLine {
			continue
		}
		for _, c := range d.commands(program) {
			if c.listed && len(c.args) >= len(path) && slices.Equal(c.args[:len(path)], path) {
				out = append(append(out, program), c.args...)
			}
		}
	}
	return out
}
