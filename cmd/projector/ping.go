package main

import (
	"context"
	"log/slog"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/ping"
	"github.com/payfold/payfold/internal/report/attention"
)

// pingFlags say where to tell that all is well.
type pingFlags struct {
	PingURL        string `name:"ping-url" env:"PING_URL" help:"Address to POST to once a minute while all is well, and with /fail otherwise, as healthchecks gives it; a secret."`
	PingURLFile    string `name:"ping-url-file" env:"PING_URL_FILE" help:"File that holds the address."`
	PingIngestAddr string `name:"ping-ingest-addr" env:"PING_INGEST_ADDR" default:"127.0.0.1:8081" help:"ADMIN_ADDR of ingest, whose state counts for PING_URL; none: it is not asked."`

	url ping.URL
}

// Check implements cli.Checked.
func (f *pingFlags) Check(faults *cli.Faults) {
	if f.PingIngestAddr != notAsked {
		cli.CheckAddress("PING_INGEST_ADDR", f.PingIngestAddr, faults)
	}
	text := cli.GivenText("PING_URL", f.PingURL, f.PingURLFile, faults)
	f.PingURL = "" // the address lives on in url, which prints redacted
	if text == "" {
		return
	}
	var err error
	if f.url, err = ping.ParseURL(text); err != nil {
		faults.Addf("PING_URL %w", err)
	}
}

func (f *pingFlags) pinger(s sources, logger *slog.Logger) *ping.Pinger {
	return ping.New(ping.Config{
		URL: f.url, Tables: s.store, Logger: logger,
		Wrong: func(ctx context.Context) ([]string, error) {
			return attention.Urgent(ctx, s.log, s.store, askIngest(f.PingIngestAddr))
		},
	})
}
