package main

import (
	"context"
	"io"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/report"
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

// Run brings the schema up to every live position and exchanges the two, unless that
// is done.
func (c *promoteCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	return c.withTables(ctx, store.Config{Schema: c.Schema}, logger, func(ctx context.Context, s sources) error {
		b, err := newBuild(ctx, s, c.Schema, c.rules, report.NewProgress(streams.Out, streams.Err, "promote "+c.Schema, c.JSON), logger)
		if err != nil {
			return err
		}
		defer b.unlock()
		done, err := b.before(ctx, false)
		if err != nil {
			return err
		}
		if !done {
			if err := b.promotion(ctx, c.AcceptLogLoss, (*promote.Promotion).Run); err != nil {
				return err
			}
		}
		return b.tell(ctx, streams.Out, c.JSON, done)
	})
}

// tell says that the schema is live, and notes that it was said.
func (b *build) tell(ctx context.Context, out io.Writer, asJSON, before bool) error {
	ctx = context.WithoutCancel(ctx) // what is done is told, also where it was interrupted in the last moment
	last, err := promote.Last(ctx, b.store)
	if err != nil {
		return err
	}
	if err := report.Promoted(out, b.schema, last, before, asJSON); err != nil {
		return err
	}
	return promote.Tell(ctx, b.store)
}
