package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/store"
)

type dropCommand struct {
	sourceFlags
	Schema string `arg:"" help:"A schema that is not live."`
}

// Run drops the schema.
func (c *dropCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	return c.withTables(ctx, store.Config{Schema: c.Schema}, logger, func(ctx context.Context, database *store.Store) error {
		defer database.LogBlocking(ctx, logger)()
		return database.Drop(ctx)
	})
}
