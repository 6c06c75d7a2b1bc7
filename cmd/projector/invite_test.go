package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
)

func TestMain(m *testing.M) {
	for _, pair := range os.Environ() { // the user who runs the tests may have set some
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "INVITE") || strings.HasPrefix(name, "CONSOLE") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

type inviteOnly struct{ inviteFlags }

// parse returns the flags and the faults, a line each.
func parse(args ...string) (*inviteFlags, []string) {
	var grammar struct {
		Run inviteOnly `cmd:"" default:"withargs"`
	}
	var out bytes.Buffer
	_, err := cli.Parse(&grammar, "projector", "", args, &out, &out)
	if err != nil {
		return nil, strings.Split(err.Error(), "\n")
	}
	return &grammar.Run.inviteFlags, nil
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func appKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

func TestInvitationsNeedNoConfiguration(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--invite-repository=acme/tool"}} {
		flags, faults := parse(args...)
		require.Empty(t, faults)
		require.Nil(t, flags.gitHub())
		require.Equal(t, 50, flags.InvitesPerDay)
		require.False(t, flags.remove)
	}
}

func TestATokenOrAnApp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--invite-github-token=ghp_x"},
		{"--invite-github-token-file=" + file(t, "ghp_x\n")},
		{"--invite-github-app-id=1", "--invite-github-app-installation-id=2", "--invite-github-app-key-file=" + file(t, appKey(t))},
	} {
		flags, faults := parse(append(args, "--invite-repository=acme/tool.go-2")...)
		require.Empty(t, faults)
		require.NotNil(t, flags.gitHub())
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", flags, *flags, *flags), "ghp_x")
	}
}

func TestInvitationsAreAsTheFlagsSay(t *testing.T) {
	t.Parallel()
	for permission, sent := range map[string]string{"push": "push", "none": ""} {
		github := testenv.NewGitHub(t, time.Now)
		flags, faults := parse("--invite-repository="+testenv.GitHubRepository, "--invite-github-token="+testenv.GitHubToken,
			"--invite-github-api-url="+github.URL, "--invite-permission="+permission, "--invites-per-day=7", "--invite-remove-on-revoke=true")
		require.Empty(t, faults)
		_, err := flags.gitHub().Invite(t.Context(), "octo")
		require.NoError(t, err)
		require.Equal(t, sent, github.Requests(http.MethodPut)[0].Permission)
		command := &runCommand{inviteFlags: *flags}
		_, inviter, _ := command.parts(sources{store: &store.Store{}}, nil, testenv.Logger(t), prometheus.NewRegistry())
		require.Equal(t, testenv.GitHubRepository, inviter.Repository)
		require.Equal(t, 7, inviter.PerDay)
		require.True(t, inviter.RemoveOnRevoke)
	}
}

func TestEveryFaultOfInvitationsIsReported(t *testing.T) {
	t.Parallel()
	key := "--invite-github-app-key-file=" + file(t, appKey(t))
	for _, test := range []struct {
		args   []string
		faults []string
	}{
		{
			[]string{
				"--invite-repository=acme", "--invites-per-day=0", "--invite-remove-on-revoke=perhaps", "--invite-github-api-url=ftp://x",
				"--invite-github-token=ghp_x", "--invite-github-app-id=1",
			},
			[]string{
				`INVITE_REPOSITORY is "acme", which is not owner/name`,
				`INVITES_PER_DAY is 0, must be 1 to 10000`,
				`INVITE_REMOVE_ON_REVOKE is "perhaps", which is neither true nor false`,
				`INVITE_GITHUB_API_URL is not an http(s) address`,
				`INVITE_GITHUB_TOKEN and INVITE_GITHUB_APP_… are both set`,
			},
		},
		{
			[]string{"--invite-repository=acme/tool", "--invite-github-app-id=x", "--invite-github-app-installation-id=-1"},
			[]string{
				`--invite-github-app-id (INVITE_GITHUB_APP_ID): "x" is not a whole number`,
				`INVITE_GITHUB_APP_ID is not set, or not above 0`,
				`INVITE_GITHUB_APP_INSTALLATION_ID is not set, or not above 0`,
				`INVITE_GITHUB_APP_KEY_FILE is not set`,
			},
		},
		{[]string{"--invite-github-token=ghp_x"}, []string{`INVITE_REPOSITORY is not set, but credentials for GitHub are`}},
		{
			[]string{"--invite-github-app-id=1", "--invite-github-app-installation-id=2", key},
			[]string{`INVITE_REPOSITORY is not set, but credentials for GitHub are`},
		},
		{[]string{"--invite-repository=acme/tool", "--invite-github-token=ghp x"}, []string{`INVITE_GITHUB_TOKEN has characters that no token has`}},
		{[]string{"--invite-repository=acme/tool", "--invite-github-token-file=" + file(t, "\n")}, []string{`INVITE_GITHUB_TOKEN_FILE is empty`}},
		{
			[]string{"--invite-repository=acme/tool", "--invite-github-token=ghp_x", "--invite-github-token-file=" + file(t, "y")},
			[]string{`INVITE_GITHUB_TOKEN and INVITE_GITHUB_TOKEN_FILE are both set`},
		},
		{[]string{"--invite-github-api-url=https://user:pass@host/api/v3"}, []string{`INVITE_GITHUB_API_URL is not an http(s) address`}},
	} {
		_, faults := parse(test.args...)
		require.ElementsMatch(t, test.faults, faults)
	}
	for _, repository := range []string{"acme/..", "acme/.", "../acme", "acme/tool/x", "acme/to ol", "/tool", "acme/", "https://github.com/acme/tool"} {
		_, faults := parse("--invite-repository=" + repository)
		require.Len(t, faults, 1, repository)
	}
	_, faults := parse("--invite-repository=acme/tool", "--invite-github-app-id=1", "--invite-github-app-installation-id=2",
		"--invite-github-app-key-file="+file(t, "not a key: secretsecret"))
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "INVITE_GITHUB_APP_KEY_FILE")
	require.NotContains(t, faults[0], "secretsecret")
}
