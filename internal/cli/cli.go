// Package cli turns flags and environment into values: one struct per program
// (kong), every fault of a configuration reported at once, exit status 2.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Faults collects what is wrong with a configuration.
type Faults struct{ list []error }

// Addf adds one fault.
func (f *Faults) Addf(format string, args ...any) {
	f.list = append(f.list, fmt.Errorf(format, args...))
}

// Add adds one fault; nil is none.
func (f *Faults) Add(err error) {
	if err != nil {
		f.list = append(f.list, err)
	}
}

// Checked is a command that can be wrong in ways its types don't show. Check
// covers what the command embeds, too.
type Checked interface{ Check(faults *Faults) }

// ErrHelp: help was printed; there is nothing left to do.
var ErrHelp = errors.New("help was printed")

// Parse fills grammar from args and the environment and returns the chosen
// command. A variable that is set but empty counts as unset. The error lists
// every fault, one a line, or is ErrHelp.
func Parse(grammar any, name, description string, args []string, stdout, stderr io.Writer) (*kong.Context, error) {
	wrong := readings{}
	helped := false
	parser, err := kong.New(grammar, kong.Name(name), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.TypeMapper(reflect.TypeFor[int](), value(wrong, "whole number", strconv.Atoi)),
		kong.TypeMapper(reflect.TypeFor[int64](), value(wrong, "whole number", func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })),
		kong.TypeMapper(reflect.TypeFor[uint64](), value(wrong, "whole number", func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })),
		kong.TypeMapper(reflect.TypeFor[time.Time](), value(wrong, "time such as 2026-01-31T12:00:00Z", func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) })),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), value(wrong, "duration such as 30s", time.ParseDuration)))
	if err != nil {
		return nil, err
	}
	unsetEmpty(parser.Model.Node)
	parsed, err := parser.Parse(args)
	if helped {
		return nil, ErrHelp
	}
	if err != nil {
		return nil, err
	}
	var faults Faults
	given := map[*kong.Flag]bool{}
	for _, node := range parsed.Path {
		given[node.Flag] = true
	}
	for _, flag := range parsed.Flags() { // of the chosen command alone
		faults.Add(wrong[reading{flag.Value, given[flag]}])
	}
	for _, node := range parsed.Path {
		if node.Command == nil {
			continue
		}
		if checked, ok := node.Command.Target.Addr().Interface().(Checked); ok {
			checked.Check(&faults)
		}
	}
	return parsed, errors.Join(faults.list...)
}

func unsetEmpty(node *kong.Node) {
	for _, flag := range node.Flags {
		for _, name := range flag.Envs {
			if text, set := os.LookupEnv(name); set && text == "" {
				_ = os.Unsetenv(name)
			}
		}
	}
	for _, child := range node.Children {
		unsetEmpty(child)
	}
}

// readings are those that failed, each with its fault.
type readings map[reading]error

// reading is of a value: on the command line, or else of its variable.
type reading struct {
	value  *kong.Value
	onLine bool
}

// value reads one but only notes what is wrong with it, so that the next is
// looked at too. Kong itself would stop at the first.
func value[T any](wrong readings, kind string, parse func(string) (T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		parsed, err := parse(text)
		if err != nil {
			// What kong reads on the command line it keeps apart at first.
			onLine := target.Addr().Interface() != ctx.Value.Target.Addr().Interface()
			wrong[reading{ctx.Value, onLine}] = fmt.Errorf("%s: %q is not a %s", names(ctx), text, kind)
			if parsed, err = parse(ctx.Value.Default); err != nil {
				return nil
			}
		}
		target.Set(reflect.ValueOf(parsed))
		return nil
	}
}

func names(ctx *kong.DecodeContext) string {
	out := "--" + ctx.Value.Name
	if len(ctx.Value.Tag.Envs) > 0 {
		out += " (" + strings.Join(ctx.Value.Tag.Envs, ", ") + ")"
	}
	return out
}

// SecretText is a secret given as a value or as the file that holds it; a
// file's last newline does not count. Both at once is a fault.
func SecretText(name, value, file string, faults *Faults) string {
	if file == "" {
		return value
	}
	if value != "" {
		faults.Addf("%s and %s_FILE are both set", name, name)
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		faults.Addf("%s_FILE: %w", name, err)
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}
