package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/testenv/specification"
)

func TestFlagsThatDoNotGoTogetherAreFaults(t *testing.T) {
	t.Parallel()
	for args, fault := range map[string]string{
		"run --lease-time=999ms":                             "LEASE_TIME is 999ms, must be 1s to 10m",
		"run --lease-time=11m":                               "LEASE_TIME is 11m0s, must be 1s to 10m",
		"rebuild --until=2999-01-01T00:00:00Z":               "--until is in the future",
		"rebuild --until-seq=1 --until=2020-01-01T00:00:00Z": "--until-seq and --until are both set",
		"rebuild --with=nothing":                             "--with nothing: there is no such projection",
		"quarantine retry x":                                 `<seq>: "x" is not a whole number`,
		"explain evt_1 --before=5":                           "--before needs --user",
		"verify --checkpoint=file":                           "CHECKPOINT_VERIFIER_KEY is missing: without the signer's verifier key a checkpoint proves nothing; set it to the key that ingest checkpoint --new-key printed",
		"reconcile nobody":                                   `"nobody" has no lists that payfold can compare; these have: creem, paddle, polar, stripe`,
		"reconcile stripe":                                   "STRIPE_API_KEY is missing: a key that may only read is enough",
		"reconcile stripe --stripe-api-key=k --since=2999-01-01T00:00:00Z": "--since is in the future",
		"verify --archive-url=ftp://a":                                     "ARCHIVE_URL: ",
	} {
		_, err := cli.Parse(&grammar{}, "projector", "", strings.Fields(args), io.Discard, io.Discard)
		require.ErrorContains(t, err, fault, args)
	}
}

func TestReconcileNeedsOnlyTheKeyOfItsProvider(t *testing.T) {
	t.Parallel()
	for _, name := range providerapi.Names() {
		_, err := cli.Parse(&grammar{}, "projector", "", []string{"reconcile", name, "--" + name + "-api-key=k"}, io.Discard, io.Discard)
		require.NoError(t, err, name)
	}
}

func TestRetiredSecretsCheckSignatures(t *testing.T) {
	t.Parallel()
	var grammar struct {
		Verify struct{ signerFlags } `cmd:"" default:"withargs"`
	}
	_, err := cli.Parse(&grammar, "projector", "", []string{
		"--provider-webhook-secret=new", "--provider-webhook-secret-previous=older",
		"--retired-secrets-file=" + file(t, "oldest\r\n\nfirst\n"),
	}, io.Discard, io.Discard)
	require.NoError(t, err)
	secrets := grammar.Verify.secrets[specification.Provider.Name()]
	require.Len(t, secrets, 4)
	body := []byte("body")
	m := events.Message{Body: body, Signature: specification.Sign(specification.NewSecret("oldest"), body)}
	for i, holds := range []bool{false, false, true, false} {
		require.Equal(t, holds, specification.Provider.Signed(secrets[i], m), i)
	}
}
