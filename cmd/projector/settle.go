package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/verify"
)

type settleCommand struct {
	sourceFlags
	rulesFlags
	JSON bool `name:"json" help:"The result as one JSON object."`
}

// Check implements cli.Checked.
func (c *settleCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
}

// Run settles the recorded out-of-order events, while live work continues.
func (c *settleCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.settle(ctx, streams, func(ctx context.Context, settle *verify.Settle) error {
		done, err := settle.Run(ctx)
		if err != nil {
			return err
		}
		return report.Settled(streams.Out, done, c.JSON)
	})
}

// settle calls work when the log and the live tables are there.
func (c *settleCommand) settle(ctx context.Context, streams cli.Streams, work func(context.Context, *verify.Settle) error) error {
	return c.withSchema(ctx, store.LiveSchema, c.QuietLogger(streams.Err), func(ctx context.Context, s sources) error {
		return work(ctx, &verify.Settle{Log: s.log, Tables: s.store, Rules: c.rules})
	})
}
