package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type schemasCommand struct {
	sourceFlags
	JSON bool `name:"json" help:"One JSON object a line."`
}

// Run lists the schemas.
func (c *schemasCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.withTables(ctx, store.Config{}, c.QuietLogger(streams.Err), func(ctx context.Context, database *store.Store) error {
		schemas, err := database.Schemas(ctx)
		if err != nil {
			return err
		}
		return report.Schemas(streams.Out, schemas, c.JSON)
	})
}

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
