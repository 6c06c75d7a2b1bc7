package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/console/access"
)

// accessFlags say who may look at the console.
type accessFlags struct {
	access.Config
	config func() access.Config // a function, so that fmt cannot print the secrets in it
}

// Check implements cli.Checked.
func (f *accessFlags) Check(faults *cli.Faults) {
	config := f.Config
	config.Token = cli.GivenText("CONSOLE_TOKEN", f.Token, f.TokenFile, faults)
	config.OIDC.ClientSecret = cli.GivenText("CONSOLE_OIDC_CLIENT_SECRET", f.OIDC.ClientSecret, f.OIDC.ClientSecretFile, faults)
	f.Config = access.Config{}
	faults.Add(config.Check())
	f.config = func() access.Config { return config }
}

// guard returns the access control of a console that listens on addr.
func (f *accessFlags) guard(ctx context.Context, addr net.Addr, logger *slog.Logger) (*access.Guard, error) {
	config := f.config()
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() {
		config.Hosts = append(config.Hosts, tcp.String())
	}
	return access.New(ctx, config, logger)
}
