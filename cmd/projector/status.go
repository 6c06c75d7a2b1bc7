package main

import (
	"context"
	"errors"

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
	var database report.DatabaseStatus
	fault := c.read(ctx, logger, func(ctx context.Context, tables *store.Store) (err error) {
		database, err = report.ReadDatabase(ctx, tables)
		return err
	})
	if err := report.NewStatus(ctx, log, database, fault).Write(streams.Out, c.JSON); err != nil {
		return err
	}
	if fault != nil && !errors.Is(fault, store.ErrNotPrepared) {
		return cli.Status(cli.ExitFailed)
	}
	return nil
}
