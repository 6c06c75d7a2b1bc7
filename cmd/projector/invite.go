package main

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/invitations"
)

// inviteFlags are the repository that licences give access to, and the credentials for it.
// Without them invitations stay pending.
type inviteFlags struct {
	InviteRepository     string `name:"invite-repository" env:"INVITE_REPOSITORY" help:"The repository that licences give access to, owner/name."`
	InviteToken          string `name:"invite-github-token" env:"INVITE_GITHUB_TOKEN" help:"GitHub token that may administer that repository."`
	InviteTokenFile      string `name:"invite-github-token-file" env:"INVITE_GITHUB_TOKEN_FILE" help:"File that holds the token."`
	InviteAppID          int64  `name:"invite-github-app-id" env:"INVITE_GITHUB_APP_ID" default:"0" help:"GitHub App, instead of a token."`
	InviteInstallationID int64  `name:"invite-github-app-installation-id" env:"INVITE_GITHUB_APP_INSTALLATION_ID" default:"0" help:"The App's installation that has the repository."`
	InviteAppKeyFile     string `name:"invite-github-app-key-file" env:"INVITE_GITHUB_APP_KEY_FILE" help:"File that holds the App's private key (PEM)."`
	InviteAPIURL         string `name:"invite-github-api-url" env:"INVITE_GITHUB_API_URL" default:"https://api.github.com" help:"GitHub's REST API; Enterprise Server: https://HOST/api/v3."`
	InvitePermission     string `name:"invite-permission" env:"INVITE_PERMISSION" default:"pull" help:"pull, triage, push, maintain, admin or a role's name; none in a repository of a personal account."`
	InvitesPerDay        int    `name:"invites-per-day" env:"INVITES_PER_DAY" default:"50" help:"Maximum number of invitations in 24 hours, 1 to 10000; GitHub's own limit is 50."`
	RemoveOnRevoke       string `name:"invite-remove-on-revoke" env:"INVITE_REMOVE_ON_REVOKE" default:"false" help:"A refund also ends the access of those who have accepted."`

	api         *url.URL
	remove      bool
	credentials invitations.Credentials
}

// ownerAndName: GitHub allows no other characters.
var ownerAndName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$`)

// Check implements cli.Checked.
func (f *inviteFlags) Check(faults *cli.Faults) {
	repository := f.InviteRepository
	if repository != "" && (!ownerAndName.MatchString(repository) || strings.HasSuffix(repository, "/.") || strings.HasSuffix(repository, "/..")) {
		faults.Addf("INVITE_REPOSITORY is %q, which is not owner/name", repository)
	}
	if f.InvitesPerDay < 1 || f.InvitesPerDay > 10_000 {
		faults.Addf("INVITES_PER_DAY is %d, must be 1 to 10000", f.InvitesPerDay)
	}
	var err error
	if f.remove, err = strconv.ParseBool(f.RemoveOnRevoke); err != nil {
		faults.Addf("INVITE_REMOVE_ON_REVOKE is %q, which is neither true nor false", f.RemoveOnRevoke)
	}
	f.checkAPI(faults)
	hasToken := f.InviteToken != "" || f.InviteTokenFile != ""
	hasApp := f.InviteAppID != 0 || f.InviteInstallationID != 0 || f.InviteAppKeyFile != ""
	switch {
	case hasToken && hasApp:
		faults.Addf("INVITE_GITHUB_TOKEN and INVITE_GITHUB_APP_… are both set")
	case hasToken:
		f.checkToken(faults)
	case hasApp:
		f.checkApp(faults)
	}
	f.InviteToken = "" // the token lives on in credentials, which print redacted
	if (hasToken || hasApp) && repository == "" {
		faults.Addf("INVITE_REPOSITORY is not set, but credentials for GitHub are")
	}
}

func (f *inviteFlags) checkAPI(faults *cli.Faults) {
	api, err := url.Parse(f.InviteAPIURL)
	if err != nil || api.Host == "" || !slices.Contains([]string{"http", "https"}, api.Scheme) || api.User != nil || api.RawQuery != "" {
		faults.Addf("INVITE_GITHUB_API_URL is not an http(s) address")
		return
	}
	f.api = api
}

func (f *inviteFlags) checkToken(faults *cli.Faults) {
	token := cli.GivenText("INVITE_GITHUB_TOKEN", f.InviteToken, f.InviteTokenFile, faults)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults.Addf("INVITE_GITHUB_TOKEN has characters that no token has")
	}
	f.credentials = invitations.Token(token)
}

func (f *inviteFlags) checkApp(faults *cli.Faults) {
	if f.InviteAppID <= 0 {
		faults.Addf("INVITE_GITHUB_APP_ID is not set, or not above 0")
	}
	if f.InviteInstallationID <= 0 {
		faults.Addf("INVITE_GITHUB_APP_INSTALLATION_ID is not set, or not above 0")
	}
	if f.InviteAppKeyFile == "" {
		faults.Addf("INVITE_GITHUB_APP_KEY_FILE is not set")
		return
	}
	key, err := os.ReadFile(f.InviteAppKeyFile)
	if err != nil {
		faults.Addf("INVITE_GITHUB_APP_KEY_FILE: %w", err)
		return
	}
	if f.credentials, err = invitations.App(f.InviteAppID, f.InviteInstallationID, key); err != nil {
		faults.Addf("INVITE_GITHUB_APP_KEY_FILE %s: %w", f.InviteAppKeyFile, err)
	}
}

// gitHub is nil without credentials.
func (f *inviteFlags) gitHub() *invitations.GitHub {
	if !f.credentials.Set() {
		return nil
	}
	permission := f.InvitePermission
	if permission == "none" {
		permission = ""
	}
	return invitations.NewGitHub(f.api, f.credentials, f.InviteRepository, permission, time.Now)
}
