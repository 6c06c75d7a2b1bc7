package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type statusCommand struct{ readFlags }

// Run prints the status. Without the database it prints the rest and fails.
func (c *statusCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	log, err := c.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	status, fault := report.ReadStatus(ctx, log, func(ctx context.Context, work func(context.Context, *store.Store) error) error {
		return c.read(ctx, logger, work)
	})
	if err := status.Write(streams.Out, c.JSON); err != nil {
		return err
	}
	if fault != nil { // the status says it
		return cli.Status(cli.ExitFailed)
	}
	return nil
}
