package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// helpWidth bounds the lines of the help on a wide terminal.
const helpWidth = 100

// help shows the default and the variable of each flag, and the exit statuses of each command.
var help = []kong.Option{
	kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: helpWidth}),
	kong.ValueFormatter(flagHelp),
	kong.Help(func(options kong.HelpOptions, ctx *kong.Context) error {
		if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
			return err
		}
		_, err := fmt.Fprint(ctx.Stdout, exitStatuses)
		return err
	}),
}

var exitStatuses = fmt.Sprintf(`
Exit status:
  0    Done.
  %d    The command failed; standard error says why.
  %d    The command line or the configuration is wrong; all faults are listed.
  %d    The command succeeded, and its answer is no.
`, ExitFailed, ExitUsage, ExitNo)

// settings are the flags that are also variables.
var settings = &kong.Group{Key: "settings", Title: "Settings, each as a flag or as a variable; the flag wins:"}

// describe prepares the flags of a command, and of those below it, for the help.
func describe(node *kong.Node) {
	for _, flag := range node.Flags {
		if len(flag.Envs) > 0 {
			flag.Group = settings
		}
		if flag.PlaceHolder == "" {
			flag.PlaceHolder = placeHolder(flag)
		}
	}
	for _, child := range node.Children {
		describe(child)
	}
}

// placeHolder returns the word that stands for the flag's value.
func placeHolder(flag *kong.Flag) string {
	for _, kind := range []string{"file", "url", "addr", "dir"} {
		if strings.HasSuffix(flag.Name, "-"+kind) || flag.Name == kind {
			return strings.ToUpper(kind)
		}
	}
	switch flag.Target.Interface().(type) {
	case time.Time:
		return "TIME"
	case time.Duration:
		return "DURATION"
	case string:
		return "TEXT"
	default:
		return "N"
	}
}

// flagHelp returns the flag's help, its default and its variable.
func flagHelp(value *kong.Value) string {
	var more []string
	if standard := shownDefault(value); standard != "" {
		more = append(more, "default "+standard)
	}
	for _, name := range value.Tag.Envs {
		more = append(more, "$"+name)
	}
	if len(more) == 0 {
		return value.Help
	}
	return strings.TrimSpace(value.Help + " [" + strings.Join(more, ", ") + "]")
}

// shownDefault returns the default, or nothing if the default is to have no value.
func shownDefault(value *kong.Value) string {
	if value.IsBool() || value.Default == "0" {
		return ""
	}
	return value.Default
}
