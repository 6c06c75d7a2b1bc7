package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

type sign struct {
	Secret     string
	SecretFile string
	text       string
}

func (s *sign) Check(faults *cli.Faults) {
	s.text = cli.SecretText("SIGNING", s.Secret, s.SecretFile, faults)
	faults.Addf("and another fault")
}

// secretText is the secret of these flags, and the faults.
func secretText(args ...string) (string, string) {
	var grammar struct {
		Sign sign `cmd:"" default:"withargs"`
	}
	_, err := cli.Parse(&grammar, "program", "", args, io.Discard, io.Discard)
	return grammar.Sign.text, err.Error()
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestOfASecretsFileTheLastNewlineDoesNotCount(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"s3cret":       "s3cret",
		"s3cret\n":     "s3cret",
		"s3cret\r\n":   "s3cret",
		"s3cret\n\n":   "s3cret\n",
		"s3\ncret\n":   "s3\ncret",
		" s3cret \t\n": " s3cret \t",
		"\n":           "",
		"":             "",
	} {
		text, faults := secretText("--secret-file", fileOf(t, file))
		require.Equal(t, want, text)
		require.Equal(t, "and another fault", faults)
	}
}

func TestASecretGivenAsAValueIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	text, faults := secretText("--secret= s3cret\n")
	require.Equal(t, " s3cret\n", text)
	require.Equal(t, "and another fault", faults)
	text, faults = secretText()
	require.Empty(t, text)
	require.Equal(t, "and another fault", faults)
}

func TestSecretsThatAreTakenAreNotLeftInTheFlags(t *testing.T) {
	t.Parallel()
	flags := cli.SecretFlags{Secret: "s3cret", Previous: "older"}
	current, previous := flags.Take(&cli.Faults{})
	require.Equal(t, []string{"s3cret", "older"}, []string{current, previous})
	require.Empty(t, flags)
}

func TestASecretGivenTwiceIsAFaultThatDoesNotRepeatIt(t *testing.T) {
	t.Parallel()
	text, faults := secretText("--secret=s3cret", "--secret-file", fileOf(t, "s3cret"))
	require.Empty(t, text)
	require.Equal(t, "SIGNING and SIGNING_FILE are both set\nand another fault", faults)
}

func TestASecretsFileThatCannotBeReadIsAFault(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, path := range []string{missing, t.TempDir()} {
		text, faults := secretText("--secret-file", path)
		require.Empty(t, text)
		require.Regexp(t, `^SIGNING_FILE: .*`+path+`.*\nand another fault$`, faults)
	}
}

func TestAnAddressMayBeInAFile(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--nats-url=tls://ingest:pw@host"},
		{"--nats-url-file", fileOf(t, "tls://ingest:pw@host\n")},
	} {
		w := setup(t)
		_, err := w.parse(args...)
		require.NoError(t, err)
		require.Equal(t, "tls://ingest:pw@host", w.grammar.Serve.NATSURL)
	}
	for want, args := range map[string][]string{
		"NATS_URL and NATS_URL_FILE are both set":                 {"--nats-url=tls://ingest:pw@host", "--nats-url-file", fileOf(t, "tls://host")},
		"NATS_URL_FILE is empty":                                  {"--nats-url-file", fileOf(t, "\n")},
		"NATS_URL_FILE: open /missing: no such file or directory": {"--nats-url-file=/missing"},
	} {
		_, err := setup(t).parse(args...)
		require.EqualError(t, err, want)
	}
}
