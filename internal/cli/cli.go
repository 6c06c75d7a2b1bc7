// Package cli reads flags and environment variables into one struct per program (kong). It
// reports all faults of a configuration at once, with exit status 2.
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
	kongcompletion "github.com/jotaen/kong-completion"
)

// Faults collects what is wrong with a configuration.
type Faults struct{ list []error }

// Addf adds one fault.
func (f *Faults) Addf(format string, args ...any) {
	f.list = append(f.list, fmt.Errorf(format, args...))
}

// Add adds one fault; nil adds nothing.
func (f *Faults) Add(err error) {
	if err != nil {
		f.list = append(f.list, err)
	}
}

// Checked is a command whose values need further checks. Its Check must also check the
// structs that the command embeds.
type Checked interface{ Check(faults *Faults) }

// ErrPrinted means that the help, the version or completions were printed, and that the program must end.
var ErrPrinted = errors.New("the help, the version or completions were printed")

// helpWidth bounds the lines of the help on a wide terminal.
const helpWidth = 100

// Parse fills grammar from args and the environment, and returns the chosen command. A variable that is
// set but empty counts as unset. The error is ErrPrinted, or lists all faults, one a line.
func Parse(grammar any, name, description string, args []string, stdout, stderr io.Writer) (*kong.Context, error) {
	wrong := readings{}
	printed := false
	parser, err := kong.New(grammar,
		kong.Name(name), kong.Description(description), kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: helpWidth}),
		kong.Exit(func(int) { printed = true }),
		kong.TypeMapper(reflect.TypeFor[int](), value(wrong, "whole number", strconv.Atoi)),
		kong.TypeMapper(reflect.TypeFor[int64](), value(wrong, "whole number", func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })),
		kong.TypeMapper(reflect.TypeFor[uint64](), value(wrong, "whole number", func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })),
		kong.TypeMapper(reflect.TypeFor[time.Time](), value(wrong, "time such as 2026-01-31T12:00:00Z", func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) })),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), value(wrong, "duration such as 30s", time.ParseDuration)))
	if err != nil {
		return nil, err
	}
	unsetEmpty(parser.Model.Node)
	kongcompletion.Register(parser) // prints completions if a shell asks for them with COMP_LINE
	if printed {
		return nil, ErrPrinted
	}
	parsed, err := parser.Parse(args)
	if printed {
		return nil, ErrPrinted
	}
	if err != nil {
		return nil, fmt.Errorf("%w; see: %s --help", err, name)
	}
	var faults Faults
	given := map[*kong.Flag]bool{}
	for _, node := range parsed.Path {
		given[node.Flag] = true
		if node.Positional != nil {
			faults.Add(wrong[reading{node.Positional, true}])
		}
	}
	for _, flag := range parsed.Flags() { // only those of the chosen command
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

// readings maps each value that could not be parsed to its fault.
type readings map[reading]error

// reading names a value's source: the command line, or its environment variable.
type reading struct {
	value  *kong.Value
	onLine bool
}

// value parses one value and records a fault in wrong, so that parsing continues with the
// next value. Kong itself would stop at the first fault.
func value[T any](wrong readings, kind string, parse func(string) (T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		parsed, err := parse(text)
		if err != nil {
			// Kong first stores a value of the command line in another place.
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
	if ctx.Value.Flag == nil {
		return "<" + ctx.Value.Name + ">" // as in the usage
	}
	out := "--" + ctx.Value.Name
	if len(ctx.Value.Tag.Envs) > 0 {
		out += " (" + strings.Join(ctx.Value.Tag.Envs, ", ") + ")"
	}
	return out
}
