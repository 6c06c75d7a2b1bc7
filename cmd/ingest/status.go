package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/telemetry"
)

type statusCommand struct {
	AdminAddr string `name:"admin-addr" env:"ADMIN_ADDR" default:"127.0.0.1:8081" help:"Where ingest serves its state."`
	JSON      bool   `name:"json" help:"One JSON object."`
}

// Run shows how the running ingest is, also while it starts. It fails if none runs.
func (c *statusCommand) Run(ctx context.Context, streams cli.Streams) error {
	answer, err := telemetry.Ask(ctx, c.AdminAddr, "/status")
	if err != nil {
		return fmt.Errorf("%w; is ingest running with this ADMIN_ADDR? Without it, see: ingest check, ingest archive", err)
	}
	var state logreport.Ingest
	err = json.Unmarshal(answer, &state)
	if err == nil && state.StartedAt.IsZero() {
		err = errors.New("its answer has no start time")
	}
	if err != nil {
		return fmt.Errorf("the program at ADMIN_ADDR %s is not ingest: %w", c.AdminAddr, err)
	}
	return state.Write(streams.Out, c.JSON)
}
