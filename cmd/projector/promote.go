package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type promoteCommand struct {
	sourceFlags
	rulesFlags
	Schema        string `arg:"" help:"The schema that rebuild has made, or portal_prev to go back."`
	AcceptLogLoss bool   `name:"accept-log-loss" help:"Promote although the log lacks, or the candidate rejects, events that the live tables have."`
	FewerProducts bool   `name:"accept-fewer-products" help:"Promote although the catalogue lacks products that the live tables sell."`
	JSON          bool   `name:"json" help:"The result as one JSON object."`
}

// Check implements cli.Checked.
func (c *promoteCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
}

// Run makes the schema live, unless an earlier command did.
func (c *promoteCommand) Run(ctx context.Context, streams cli.Streams) error {
	if err := c.expectDatabase(); err != nil {
		return err
	}
	logger := c.QuietLogger(streams.Err)
	return c.with(ctx, store.Config{Schema: c.Schema}, logger, withLog(logger, func(ctx context.Context, s sources) error {
		defer s.store.LogBlocking(ctx, logger)()
		progress := report.Progress(streams.Out, streams.Err, "promote "+c.Schema, c.JSON)
		command := promote.Command{Rebuild: s.rebuild(c.rules, progress, logger), AcceptLogLoss: c.AcceptLogLoss, AcceptFewerProducts: c.FewerProducts}
		return promoteAndTell(ctx, command, streams, c.JSON)
	}))
}

// promoteAndTell promotes, reports that the tables are live, and records that it was reported.
func promoteAndTell(ctx context.Context, command promote.Command, streams cli.Streams, asJSON bool) error {
	last, before, err := command.Run(ctx)
	if err != nil {
		return err
	}
	if err := report.Promoted(streams.Out, command.Store.Schema(), last, before, asJSON); err != nil {
		return err
	}
	return promote.Tell(context.WithoutCancel(ctx), command.Store)
}
