package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/projector"
	"github.com/payfold/payfold/internal/store"
)

type promoteCommand struct {
	sourceFlags
	rulesFlags
	Schema        string `arg:"" help:"What rebuild has made, or portal_prev to go back."`
	AcceptLogLoss bool   `name:"accept-log-loss" help:"Also where the log lacks events that the live tables hold."`
	JSON          bool   `name:"json" help:"The result as one JSON object."`
}

// Check implements cli.Checked.
func (c *promoteCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
}

// Run brings the schema up to every live position and exchanges the two.
func (c *promoteCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	return c.withSchema(ctx, c.Schema, logger, func(ctx context.Context, s sources) error {
		b, err := newBuild(ctx, s, c.Schema, c.rules, newProgress(streams, "promote "+c.Schema, c.JSON), logger)
		if err != nil {
			return err
		}
		defer b.unlock()
		if err := b.promotion(ctx, c.AcceptLogLoss, (*projector.Promote).Run); err != nil {
			return err
		}
		live, err := s.store.SchemaNamed(ctx, store.LiveSchema)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(streams.Out).Encode(live)
		}
		fmt.Fprintf(streams.Out, "%s is live as %s, with everything up to seq %d; the tables before are %s.\n",
			c.Schema, store.LiveSchema, live.Position, store.PreviousSchema)
		return nil
	})
}
