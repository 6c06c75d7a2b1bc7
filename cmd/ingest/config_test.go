package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

func TestAnEmptyFileOfTheSecretIsCalledEmpty(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for fault, args := range map[string][]string{
		"PROVIDER_WEBHOOK_SECRET_FILE is empty":                                                     {"--provider-webhook-secret-file=" + empty},
		"PROVIDER_WEBHOOK_SECRET_FILE: open /missing: no such file or directory":                    {"--provider-webhook-secret-file=/missing"},
		"PROVIDER_WEBHOOK_SECRET is missing: copy the signing secret from the provider's dashboard": nil,
	} {
		var grammar struct {
			Serve struct{ secretFlags } `cmd:"" default:"withargs"`
		}
		var out bytes.Buffer
		_, err := cli.Parse(&grammar, "ingest", "", args, &out, &out)
		require.EqualError(t, err, fault)
	}
}

func TestAMissingKeyIsNamedWithItsVariableAndWhatMakesIt(t *testing.T) {
	t.Parallel()
	command := checkpointCommand{KeyFile: filepath.Join(t.TempDir(), "key")}
	err := command.Run(t.Context(), cli.Streams{})
	require.EqualError(t, err, "CHECKPOINT_KEY_FILE: there is no file "+command.KeyFile+"; ingest checkpoint --new-key NAME makes it, with a new key")
}

func TestAPortThatIsNoneIsNamedWithItsVariable(t *testing.T) {
	t.Parallel()
	var grammar struct {
		Serve serveCommand `cmd:"" default:"withargs"`
	}
	var out bytes.Buffer
	_, err := cli.Parse(&grammar, "ingest", "", []string{"--provider-webhook-secret=whsec_0123456789abcdef", "--port=x"}, &out, &out)
	require.EqualError(t, err, `PORT: ":x" is not host:port`)
}

func TestAFlagThatNeedsAnotherIsRefusedWithoutIt(t *testing.T) {
	t.Parallel()
	for fault, args := range map[string][]string{
		"--full needs --archive":       {"check", "--full"},
		"--scratch needs --check":      {"restore", "--from=/archive", "--scratch=/scratch"},
		"--metrics-file needs --check": {"restore", "--from=/archive", "--metrics-file=/metrics"},
	} {
		var grammar struct {
			Check   checkCommand   `cmd:""`
			Restore restoreCommand `cmd:""`
		}
		var out bytes.Buffer
		_, err := cli.Parse(&grammar, "ingest", "", append(args, "--data-dir="+t.TempDir()), &out, &out)
		require.EqualError(t, err, fault)
	}
}
