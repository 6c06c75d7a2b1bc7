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

func TestWhatACommandLacksIsNamedWithWhatSetsIt(t *testing.T) {
	t.Parallel()
	const none = "there is no archive: ARCHIVE_URL is none, as it is by default with NATS_URL; set it to a folder or s3://bucket/prefix"
	for _, c := range []struct {
		args  []string
		fault string
	}{
		{[]string{"archive", "--nats-url=nats://host"}, none},
		{[]string{"check", "--archive", "--nats-url=nats://host"}, none},
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
