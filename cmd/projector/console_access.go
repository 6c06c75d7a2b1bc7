package main

import (
	"context"
	"log/slog"
	"net"
	"strings"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/console/access"
)

// accessFlags say who may look at the console.
type accessFlags struct {
	Token            string `name:"console-token" env:"CONSOLE_TOKEN" help:"Token that opens the console, at least 20 letters, digits and -._~; by default one is made and its link printed."`
	TokenFile        string `name:"console-token-file" env:"CONSOLE_TOKEN_FILE" help:"File that holds the token."`
	Hosts            string `name:"console-hosts" env:"CONSOLE_HOSTS" help:"Names under which the console answers besides localhost, with or without a port, separated by commas."`
	PublicURL        string `name:"console-public-url" env:"CONSOLE_PUBLIC_URL" help:"Where people find the console behind a reverse proxy, https://HOST; its cookies are then for TLS only."`
	ProxyHeader      string `name:"console-proxy-header" env:"CONSOLE_PROXY_HEADER" help:"Header in which a trusted proxy names the user; needs console-trusted-proxies."`
	TrustedProxies   string `name:"console-trusted-proxies" env:"CONSOLE_TRUSTED_PROXIES" help:"Addresses or prefixes of those proxies, separated by commas."`
	OIDCIssuer       string `name:"console-oidc-issuer" env:"CONSOLE_OIDC_ISSUER" help:"OpenID Connect issuer where people log in; needs a client id and console-public-url."`
	OIDCClientID     string `name:"console-oidc-client-id" env:"CONSOLE_OIDC_CLIENT_ID" help:"The console's client id there."`
	OIDCClientSecret string `name:"console-oidc-client-secret" env:"CONSOLE_OIDC_CLIENT_SECRET" help:"The client's secret; a public client has none."`
	OIDCSecretFile   string `name:"console-oidc-client-secret-file" env:"CONSOLE_OIDC_CLIENT_SECRET_FILE" help:"File that holds the client's secret."`
	OIDCAllowed      string `name:"console-oidc-allowed" env:"CONSOLE_OIDC_ALLOWED" help:"Who may look: verified e-mail addresses, or domains such as @example.com, separated by commas; by default everyone whom the issuer lets in."`

	config func() access.Config // a function, so that fmt cannot print the secrets in it
}

// Check implements cli.Checked.
func (f *accessFlags) Check(faults *cli.Faults) {
	config := access.Config{
		Token:          cli.GivenText("CONSOLE_TOKEN", f.Token, f.TokenFile, faults),
		Hosts:          list(f.Hosts),
		PublicURL:      f.PublicURL,
		ProxyHeader:    f.ProxyHeader,
		TrustedProxies: list(f.TrustedProxies),
		OIDC: access.OIDC{
			Issuer: f.OIDCIssuer, ClientID: f.OIDCClientID, Allowed: list(f.OIDCAllowed),
			ClientSecret: cli.GivenText("CONSOLE_OIDC_CLIENT_SECRET", f.OIDCClientSecret, f.OIDCSecretFile, faults),
		},
	}
	f.Token, f.OIDCClientSecret = "", ""
	faults.Add(config.Check())
	if f.OIDCAllowed != "" && len(config.OIDC.Allowed) == 0 { // an empty list lets everybody in
		faults.Addf("CONSOLE_OIDC_ALLOWED is %q, which names nobody", f.OIDCAllowed)
	}
	f.config = func() access.Config { return config }
}

// list splits a text at its commas.
func list(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// guard returns the access control of a console that listens on addr.
func (f *accessFlags) guard(ctx context.Context, addr net.Addr, logger *slog.Logger) (*access.Guard, error) {
	config := f.config()
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() {
		config.Hosts = append(config.Hosts, tcp.String())
	}
	return access.New(ctx, config, logger)
}
