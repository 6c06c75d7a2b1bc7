package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

// parseSecrets returns the flags with these arguments.
func parseSecrets(args ...string) (secretFlags, error) {
	var grammar struct {
		Serve struct{ secretFlags } `cmd:"" default:"withargs"`
	}
	_, err := cli.Parse(&grammar, "ingest", "", args, io.Discard, io.Discard)
	return grammar.Serve.secretFlags, err
}

func TestAnEmptyFileOfTheSecretIsCalledEmpty(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for fault, args := range map[string][]string{
		"PROVIDER_WEBHOOK_SECRET_FILE is empty":                                  {"--provider-webhook-secret-file=" + empty},
		"PROVIDER_WEBHOOK_SECRET_FILE: open /missing: no such file or directory": {"--provider-webhook-secret-file=/missing"},
		"no signing secret is set: ":                                             nil,
	} {
		_, err := parseSecrets(args...)
		require.ErrorContains(t, err, fault)
		require.NotContains(t, err.Error(), "\n", "one fault")
	}
}

func TestAWeakSecretIsNamed(t *testing.T) {
	t.Parallel()
	flags, err := parseSecrets("--provider-webhook-secret=whsec_0123456789", "--stripe-webhook-secret=whsec_012345678", "--stripe-webhook-secret-previous=short",
		"--polar-webhook-secret=whsec_0123456789", "--polar-webhook-secret-previous=short")
	require.NoError(t, err)
	require.Equal(t, []string{"STRIPE_WEBHOOK_SECRET", "STRIPE_WEBHOOK_SECRET_PREVIOUS", "POLAR_WEBHOOK_SECRET_PREVIOUS"}, flags.weak)
	require.Len(t, flags.secrets["provider"], 1)
	require.Len(t, flags.secrets["stripe"], 2)
	require.NotContains(t, fmt.Sprintf("%+v %#v", flags, flags), "short")
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

func TestWhatACommandLacksIsNamedWithWhatSetsIt(t *testing.T) {
	t.Parallel()
	const none = "there is no archive: ARCHIVE_URL is none, as it is by default with NATS_URL; set it to a folder or s3://bucket/prefix"
	for _, c := range []struct {
		args  []string
		fault string
	}{
		{[]string{"archive", "--nats-url=nats://host"}, none},
		{[]string{"check", "--archive", "--nats-url=nats://host"}, none},
		{[]string{"send", "--stripe-webhook-secret=whsec_0123456789abcdef", "file"}, "PROVIDER_WEBHOOK_SECRET is missing: ingest send signs with it"},
		{[]string{"create-stream"}, "NATS_URL is missing: the stream is that of a NATS cluster; ingest itself makes the stream of an embedded log when it starts"},
		{
			[]string{"serve", "--provider-webhook-secret=whsec_0123456789abcdef", "--log-keep=1000", "--archive-url=none"},
			"LOG_KEEP is set and ARCHIVE_URL is none: only archived events can be removed from the log; name an archive, or unset LOG_KEEP",
		},
	} {
		var grammar struct {
			Archive      archiveCommand      `cmd:""`
			Check        checkCommand        `cmd:""`
			CreateStream createStreamCommand `cmd:""`
			Send         sendCommand         `cmd:""`
			Serve        serveCommand        `cmd:""`
		}
		var out bytes.Buffer
		_, err := cli.Parse(&grammar, "ingest", "", c.args, &out, &out)
		require.EqualError(t, err, c.fault)
	}
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
