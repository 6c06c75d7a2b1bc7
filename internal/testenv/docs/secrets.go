package docs

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

// mayBeSecret matches the flags that have a secret, or name a file that has one.
var mayBeSecret = regexp.MustCompile(`secret|token|password|creds|credential|key|-file$|^(nats|database|ping)-url$`)

// isFile matches those of them that name a file.
var isFile = regexp.MustCompile(`-file$|^nats-creds$`)

// notSecret are flags that mayBeSecret matches, with the reason why they take other texts.
var notSecret = map[string]string{
	"checkpoint-verifier-key":      "public",
	"checkpoint-verifier-key-file": "public, one a line",
	"new-key":                      "the name of a key",
	"invite-github-app-key-file":   "a PEM file, which its parser checks",
	"catalogue-file":               "no secret",
	"metrics-file":                 "no secret",
}

// noSecret pads an HMAC like the empty key.
const noSecret = "\x00\x00\x00\x00"

// RequireSecretsAreText requires that every flag of program that has a secret refuses a text that is none, and
// that the fault names the variable and does not repeat the text. grammar returns an empty command line struct.
func RequireSecretsAreText(t *testing.T, program string, grammar func() any) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(noSecret), 0o600))
	model, err := kong.New(grammar(), kong.Name(program))
	require.NoError(t, err)
	tried := 0
	for _, leaf := range model.Model.Leaves(false) {
		for inFile, value := range map[bool]string{true: file, false: noSecret} { // a secret is one or the other
			args := anyArguments(leaf)
			var want []string
			for _, flag := range leaf.Flags {
				if notSecret[flag.Name] != "" || !mayBeSecret.MatchString(flag.Name) || isFile.MatchString(flag.Name) != inFile {
					continue
				}
				args = append(args, "--"+flag.Name+"="+value)
				want = append(want, flag.Envs[0]+": a secret is one line of printable characters; this has a control character")
			}
			if len(want) == 0 {
				continue
			}
			_, err := cli.Parse(grammar(), program, "", args, io.Discard, io.Discard)
			require.Error(t, err, args)
			require.Subset(t, strings.Split(err.Error(), "\n"), want, leaf.FullPath())
			require.NotContains(t, err.Error(), noSecret)
			tried++
		}
	}
	require.NotZero(t, tried)
}

// anyArguments returns the words that call a command, with a value for all that it requires.
func anyArguments(leaf *kong.Node) []string {
	args := commandsOf(leaf)
	for range leaf.Positional {
		args = append(args, "1")
	}
	for _, flag := range leaf.Flags {
		if flag.Required {
			args = append(args, "--"+flag.Name+"=1")
		}
	}
	return args
}

// commandsOf returns the words that call a command.
func commandsOf(node *kong.Node) []string {
	if node.Type == kong.ApplicationNode {
		return nil
	}
	return append(commandsOf(node.Parent), node.Name)
}
