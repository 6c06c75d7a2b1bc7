package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type adoptCommand struct {
	sourceFlags
	JSON bool `name:"json" help:"The result as one JSON object."`
}

// Run makes the tables continue with a new log, after the old one was lost.
func (c *adoptCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.withSchema(ctx, store.LiveSchema, c.QuietLogger(streams.Err), func(ctx context.Context, s sources) error {
		info, err := s.log.Info(ctx)
		if err != nil {
			return err
		}
		adopted, err := identity.Adopt(ctx, s.store, info)
		if err != nil {
			return err
		}
		return report.Adopted(streams.Out, adopted, c.JSON)
	})
}
