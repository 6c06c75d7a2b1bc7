package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
		"s3cret":     "s3cret",
		"s3cret\n":   "s3cret",
		"s3cret\r\n": "s3cret",
		" s3 cret ":  " s3 cret ",
		"schlüssel":  "schlüssel",
		"\n":         "",
		"":           "",
	} {
		text, faults := secretText("--secret-file", fileOf(t, file))
		require.Equal(t, want, text)
		require.Equal(t, "and another fault", faults)
	}
}

func TestASecretGivenAsAValueIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	text, faults := secretText("--secret= s3cret ")
	require.Equal(t, " s3cret ", text)
	require.Equal(t, "and another fault", faults)
	text, faults = secretText()
	require.Empty(t, text)
	require.Equal(t, "and another fault", faults)
}

// notSecrets are texts that are no secret, with what the fault says of them.
var notSecrets = map[string]string{
	"\x00":                       "has a control character",
	strings.Repeat("\x00", 64):   "has a control character",
	"s3cret\x00":                 "has a control character",
	"s3\tcret":                   "has a control character",
	"s3cret\x1b[0m":              "has a control character",
	"s3cret\x7f":                 "has a control character",
	"s3cret\u0080":               "has a control character",
	"s3cret\u0085":               "has a control character",
	"s3cret\u009f":               "has a control character",
	"s\x003\x00c\x00r\x00e\x00t": "has a control character", // UTF-16
	"\ufeffs3cret":               "has a byte order mark",
	"s3cret\ufeff":               "has a byte order mark",
	"s3\ncret":                   "has more than one line",
	"s3\rcret":                   "has more than one line",
	"\ns3cret":                   "has more than one line",
	"s3\u2028cret":               "has more than one line",
	"s3cret\n\n\n":               "has more than one line",
	"s3cret\xff":                 "is not UTF-8",
	"\xc0\x80":                   "is not UTF-8", // a NUL of Java
	" ":                          "is only white space",
	"\u00a0\u3000":               "is only white space",
	"s3\u200bcret":               "has a character that cannot be printed",
}

func TestWhatIsNotOneLineOfPrintableCharactersIsNoSecret(t *testing.T) {
	t.Parallel()
	for bad, says := range notSecrets {
		t.Run(fmt.Sprintf("%q", bad), func(t *testing.T) {
			t.Parallel()
			const rule = ": a secret is one line of printable characters; this "
			for name, args := range map[string][]string{
				"SIGNING":      {"--secret=" + bad},
				"SIGNING_FILE": {"--secret-file", fileOf(t, bad+"\n")},
			} {
				text, faults := secretText(args...)
				require.Empty(t, text)
				require.Equal(t, name+rule+says+"\nand another fault", faults)
			}
			if strings.Contains(bad, "\n") {
				return // a file of lines may have these
			}
			var grammar struct {
				List list `cmd:"" default:"withargs"`
			}
			_, err := cli.Parse(&grammar, "program", "", []string{"--file", fileOf(t, "s3cret\n"+bad+"\n")}, io.Discard, io.Discard)
			require.EqualError(t, err, "LIST_FILE"+rule+says)
			require.Empty(t, grammar.List.lines)
		})
	}
}

type list struct {
	File  string
	lines []string
}

func (l *list) Check(faults *cli.Faults) { l.lines = cli.SecretLines("LIST_FILE", l.File, faults) }

func TestEmptyLinesOfAFileOfSecretsAreNoSecrets(t *testing.T) {
	t.Parallel()
	var faults cli.Faults
	require.Equal(t, []string{"one", "two"}, cli.SecretLines("LIST_FILE", fileOf(t, "one\r\n\n\ntwo"), &faults))
	require.Empty(t, faults)
}

func TestEachProviderHasItsOwnSecrets(t *testing.T) {
	t.Parallel()
	w := setupSecrets(t)
	require.NoError(t, w.parse("--provider-webhook-secret=one", "--stripe-webhook-secret-file", fileOf(t, "two\n"), "--stripe-webhook-secret-previous=three",
		"--creem-webhook-secret=four", "--paddle-webhook-secret=five", "--polar-webhook-secret=six", "--dodo-webhook-secret=one",
		"--lemonsqueezy-webhook-secret=seven", "--lemonsqueezy-webhook-secret-previous-file", fileOf(t, "\n"),
		"--payfold-event-secret=eight", "--payfold-event-secret-previous-file", fileOf(t, "nine\n")))
	require.Equal(t, []cli.GivenSecret{
		{"provider", "PROVIDER_WEBHOOK_SECRET", "one"},
		{"creem", "CREEM_WEBHOOK_SECRET", "four"},
		{"stripe", "STRIPE_WEBHOOK_SECRET", "two"},
		{"stripe", "STRIPE_WEBHOOK_SECRET_PREVIOUS", "three"},
		{"paddle", "PADDLE_WEBHOOK_SECRET", "five"},
		{"polar", "POLAR_WEBHOOK_SECRET", "six"},
		{"dodo", "DODO_WEBHOOK_SECRET", "one"},
		{"lemonsqueezy", "LEMONSQUEEZY_WEBHOOK_SECRET", "seven"},
		{"payfold", "PAYFOLD_EVENT_SECRET", "eight"},
		{"payfold", "PAYFOLD_EVENT_SECRET_PREVIOUS", "nine"},
	}, w.grammar.Serve.given)
	require.Empty(t, w.grammar.Serve.SecretFlags, "what was taken can be printed")
}

func TestACommandThatNeedsASecretNamesTheVariables(t *testing.T) {
	t.Parallel()
	none := "no signing secret is set: copy it from the provider's dashboard into its variable, one of PROVIDER_WEBHOOK_SECRET, CREEM_WEBHOOK_SECRET, " +
		"STRIPE_WEBHOOK_SECRET, PADDLE_WEBHOOK_SECRET, POLAR_WEBHOOK_SECRET, DODO_WEBHOOK_SECRET, LEMONSQUEEZY_WEBHOOK_SECRET, PAYFOLD_EVENT_SECRET"
	require.EqualError(t, setupSecrets(t).parse(), none)
	require.EqualError(t, setupSecrets(t).parse("--stripe-webhook-secret-previous-file", fileOf(t, "")), none)
}

func TestAPreviousSecretNeedsItsCurrentOne(t *testing.T) {
	t.Parallel()
	const fault = "STRIPE_WEBHOOK_SECRET_PREVIOUS is set and STRIPE_WEBHOOK_SECRET is not: set the current secret, too"
	require.EqualError(t, setupSecrets(t).parse("--stripe-webhook-secret-previous=old"), fault)
	require.EqualError(t, setupSecrets(t).parse("--provider-webhook-secret=new", "--stripe-webhook-secret-previous-file", fileOf(t, "old")), fault)
	require.EqualError(t, setupSecrets(t).parse("--stripe-webhook-secret-previous=old", "--stripe-webhook-secret-file", fileOf(t, "")),
		"STRIPE_WEBHOOK_SECRET_FILE is empty", "one fault has one message")
}

// secretsWorld is a command that needs a signing secret.
type secretsWorld struct {
	grammar struct {
		Serve needsSecret `cmd:"" default:"withargs"`
	}
}

type needsSecret struct {
	cli.SecretFlags
	given []cli.GivenSecret
}

func (s *needsSecret) Check(faults *cli.Faults) { s.given = s.Require(faults) }

func setupSecrets(t *testing.T) *secretsWorld {
	t.Helper()
	return &secretsWorld{}
}

func (w *secretsWorld) parse(args ...string) error {
	_, err := cli.Parse(&w.grammar, "program", "", args, io.Discard, io.Discard)
	return err
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
