package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

type listen struct {
	Addresses []string `arg:"" optional:""`
}

func (l *listen) Check(faults *cli.Faults) {
	for _, address := range l.Addresses {
		cli.CheckAddress("LISTEN_ADDR", address, faults)
	}
	faults.Add(nil)
}

func TestCredentialsOfNATSNeedAServerAndAFile(t *testing.T) {
	t.Parallel()
	creds := fileOf(t, "x")
	require.Equal(t, []string{"NATS_CREDS is set and NATS_URL is not: the embedded log takes no credentials; set NATS_URL, or unset NATS_CREDS"}, setup(t).faults("--nats-creds", creds))
	require.Equal(t, []string{"NATS_CREDS: open /nofile: no such file or directory"}, setup(t).faults("--nats-url=nats://host", "--nats-creds=/nofile"))
	_, err := setup(t).parse("--nats-url=nats://host", "--nats-creds", creds)
	require.NoError(t, err)
}

func TestOnlyAnEmbeddedLogIsArchivedWhereNothingIsSaid(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"": "data/archive", "nats://host": "none"} {
		var flags cli.ArchiveFlags
		flags.CheckArchive(&cli.Common{DataDir: "data", NATSURL: url}, &cli.Faults{})
		require.Equal(t, want, flags.ArchiveURL)
	}
}

func TestAnAddressIsHostAndPort(t *testing.T) {
	t.Parallel()
	var grammar struct {
		Listen listen `cmd:"" default:"withargs"`
	}
	var out bytes.Buffer
	_, err := cli.Parse(&grammar, "program", "", []string{":8080", "127.0.0.1:0", "[::1]:80", "host:http"}, &out, &out)
	require.NoError(t, err)
	_, err = cli.Parse(&grammar, "program", "", []string{"8080", "host", "::1:80", "", "host:port"}, &out, &out)
	require.Equal(t, strings.Join([]string{
		`LISTEN_ADDR: "8080" is not host:port`,
		`LISTEN_ADDR: "host" is not host:port`,
		`LISTEN_ADDR: "::1:80" is not host:port`,
		`LISTEN_ADDR: "" is not host:port`,
		`LISTEN_ADDR: "host:port" is not host:port`,
	}, "\n"), err.Error())
}

func TestTheLoggerIsAsConfigured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := setup(t)
	_, err := w.parse("--log-level=error", "--log-format=json")
	require.NoError(t, err)
	logger := w.grammar.Serve.Logger(&out)
	logger.Warn("not said")
	logger.Error("said")
	require.Contains(t, out.String(), `"msg":"said"`)
	require.NotContains(t, out.String(), "not said")
}

func TestAnAnswersLoggerIsQuietUnlessMoreIsAskedFor(t *testing.T) {
	t.Parallel()
	for level, said := range map[string]string{"": "warning", "info": "information warning", "error": ""} {
		var out bytes.Buffer
		common := cli.Common{LogLevel: level, LogFormat: "text"}
		logger := common.QuietLogger(&out)
		logger.Info("information")
		logger.Warn("warning")
		var heard []string
		for _, text := range []string{"information", "warning"} {
			if strings.Contains(out.String(), text) {
				heard = append(heard, text)
			}
		}
		require.Equal(t, said, strings.Join(heard, " "), "LOG_LEVEL=%s", level)
	}
	var out bytes.Buffer
	(&cli.Common{LogFormat: "text"}).Logger(&out).Info("information")
	require.Contains(t, out.String(), "information", "others say what they do")
}

func TestANATSURLThatCannotBeReadIsAFaultAndIsNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"nats://u:se/cret@host", "nats://a, nats://u:secret@host:x", "nats://u:secret@[::1"} {
		faults := setup(t).faults("--nats-url=" + url)
		require.Len(t, faults, 1, url)
		require.Contains(t, faults[0], "NATS_URL cannot be read")
		require.NotContains(t, faults[0], "cret")
	}
	_, err := setup(t).parse("--nats-url=host, tls://u:p%2F@[::1]:4222")
	require.NoError(t, err)
}
