package cli_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

// The variables bear names that no one else sets.
type serve struct {
	cli.Common
	Count   int           `name:"count" env:"CLI_TEST_COUNT" default:"3" help:"How many."`
	Size    int64         `name:"size" env:"CLI_TEST_SIZE" default:"524288"`
	Wait    time.Duration `name:"wait" env:"CLI_TEST_WAIT" default:"30s"`
	Bare    int           `name:"bare"`
	First   uint64        `name:"first" env:"CLI_TEST_FIRST"`
	Until   *uint64       `name:"until"`
	At      time.Time     `name:"at" env:"CLI_TEST_AT"`
	checked int
}

func (s *serve) Check(faults *cli.Faults) {
	s.checked++
	s.Common.Check(faults)
	if s.Count < 1 {
		faults.Addf("CLI_TEST_COUNT is %d, must be at least 1", s.Count)
	}
	if s.Wait <= 0 {
		faults.Addf("CLI_TEST_WAIT is %s, must be above 0", s.Wait)
	}
}

type send struct {
	Files []string `arg:""`
}

type grammar struct {
	Serve serve `cmd:"" default:"withargs"`
	Send  send  `cmd:""`
}

// world is one program's command line.
type world struct {
	t              *testing.T
	grammar        grammar
	stdout, stderr bytes.Buffer
}

func setup(t *testing.T) *world {
	t.Helper()
	return &world{t: t}
}

func (w *world) parse(args ...string) (*kong.Context, error) {
	return cli.Parse(&w.grammar, "program", "A program.", args, &w.stdout, &w.stderr)
}

// faults are the lines of the error.
func (w *world) faults(args ...string) []string {
	w.t.Helper()
	_, err := w.parse(args...)
	require.Error(w.t, err)
	return strings.Split(err.Error(), "\n")
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []string{
		`--size (CLI_TEST_SIZE): "1.5" is not a whole number`,
		`--bare: "many" is not a whole number`,
		`--wait (CLI_TEST_WAIT): "soon" is not a duration such as 30s`,
		`--first (CLI_TEST_FIRST): "-1" is not a whole number`,
		`--until: "x" is not a whole number`,
		`--at (CLI_TEST_AT): "noon" is not a time such as 2026-01-31T12:00:00Z`,
		`CLI_TEST_COUNT is 0, must be at least 1`,
		`LOG_LEVEL is "loud", must be debug, info, warn or error`,
		`LOG_FORMAT is "xml", must be text or json`,
		`NATS_STREAM is empty`,
		`NATS_INBOX_PREFIX is "mine.>", must be letters, digits, - and _, with dots between them`,
		`DATA_DIR is empty`,
	}, setup(t).faults("--size=1.5", "--bare=many", "--wait=soon", "--count=0", "--first=-1", "--until=x", "--at=noon",
		"--log-level=loud", "--log-format=xml", "--nats-stream=", "--nats-inbox-prefix=mine.>", "--data-dir="))
}

func TestAValueThatCannotBeReadIsOneFaultOnly(t *testing.T) {
	t.Parallel()
	for flag, kind := range map[string]string{"count": "whole number", "wait": "duration such as 30s", "first": "whole number"} {
		for _, text := range []string{"x", "", "9999999999999999999999"} {
			require.Equal(t, []string{"--" + flag + " (CLI_TEST_" + strings.ToUpper(flag) + `): "` + text + `" is not a ` + kind},
				setup(t).faults("--"+flag+"="+text))
		}
	}
}

func TestACommandLineThatFitsNoCommandIsAFault(t *testing.T) {
	t.Parallel()
	for fault, args := range map[string][]string{
		"unknown flag --unheard-of; see: program --help":        {"send", "--unheard-of"},
		"unexpected argument no-command; see: program --help":   {"no-command"},
		"unexpected argument one-too-many; see: program --help": {"serve", "one-too-many"},
		`expected "<files> ..."; see: program --help`:           {"send"},
	} {
		require.Equal(t, []string{fault}, setup(t).faults(args...))
	}
}

func TestWithoutFlagsOrVariablesTheDefaultsCount(t *testing.T) {
	t.Parallel()
	w := setup(t)
	parsed, err := w.parse()
	require.NoError(t, err)
	require.Equal(t, "serve", parsed.Command())
	require.Equal(t, serve{
		Common: cli.Common{NATSStream: "PAYMENTS", DataDir: "./data", LogFormat: "text"},
		Count:  3, Size: 512 << 10, Wait: 30 * time.Second, checked: 1,
	}, w.grammar.Serve)
}

func TestOnlyTheChosenCommandIsChecked(t *testing.T) {
	t.Parallel()
	w := setup(t)
	parsed, err := w.parse("send", "a", "-")
	require.NoError(t, err)
	require.Equal(t, "send <files>", parsed.Command())
	require.Equal(t, []string{"a", "-"}, w.grammar.Send.Files)
	require.Zero(t, w.grammar.Serve.checked)
}

func TestHelpIsPrintedAndNothingElseIsDone(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"--count=x", "--help"}} {
		w := setup(t)
		_, err := w.parse(args...)
		require.ErrorIs(t, err, cli.ErrPrinted)
		require.Zero(t, w.grammar.Serve.checked)
		require.Empty(t, w.stderr.String())
		require.Contains(t, w.stdout.String(), "Usage: program")
		if args[0] == "serve" {
			require.Contains(t, w.stdout.String(), "--count=3", "the default")
			require.Contains(t, w.stdout.String(), "How many ($CLI_TEST_COUNT).")
		}
	}
}

func TestAGrammarThatCannotBeBuiltIsAnError(t *testing.T) {
	t.Parallel()
	var twice struct {
		One, Two int `name:"same"`
	}
	_, err := cli.Parse(&twice, "program", "", nil, io.Discard, io.Discard)
	require.Error(t, err)
	require.False(t, errors.Is(err, cli.ErrPrinted))
}
