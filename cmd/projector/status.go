package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/status"
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
	now, fault := status.Read(ctx, log, func(ctx context.Context, work func(context.Context, *store.Store) error) error {
		return c.read(ctx, logger, work)
	})
	if err := now.Write(streams.Out, c.JSON); err != nil {
		return err
	}
	if fault != nil { // the status shows the fault
		return cli.Status(cli.ExitFailed)
	}
	return nil
}
