package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
)

type healthcheckCommand struct {
	cli.Healthcheck
	AdminAddr string `name:"admin-addr" env:"ADMIN_ADDR" default:"127.0.0.1:8081" help:"Where ingest serves health."`
}

// Run ends with 1 if ingest is not ready.
func (c *healthcheckCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.Ask(ctx, c.AdminAddr, streams)
}
