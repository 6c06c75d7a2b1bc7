package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/logreport"
)

type statusCommand struct {
	AdminAddr string `name:"admin-addr" env:"ADMIN_ADDR" default:"127.0.0.1:8081" help:"Where ingest serves its state."`
	JSON      bool   `name:"json" help:"One JSON object."`
}

// Run shows how the running ingest is, also while it starts. It fails if none runs.
func (c *statusCommand) Run(ctx context.Context, streams cli.Streams) error {
	state, err := logreport.AskIngest(ctx, c.AdminAddr)
	switch {
	case errors.Is(err, logreport.ErrNotIngest):
		return fmt.Errorf("the program at ADMIN_ADDR %s is not ingest: %w", c.AdminAddr, err)
	case err != nil:
		return fmt.Errorf("%w; is ingest running with this ADMIN_ADDR? Without it, see: ingest check, ingest archive", err)
	}
	return state.Write(streams.Out, c.JSON)
}
