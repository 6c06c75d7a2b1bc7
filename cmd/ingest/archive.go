package main

import (
	"context"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/logreport"
)

type archiveCommand struct {
	cli.Common
	cli.ArchiveFlags
	Heal bool `name:"heal" help:"Read every byte of the archive, and rebuild damaged and missing segments from the log."`
	JSON bool `name:"json" help:"One JSON object."`
}

// Check implements cli.Checked.
func (c *archiveCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.RequireArchive(&c.Common, faults)
}

// Run reads header and footer of every segment and changes nothing, unless it heals. The exit
// status is 3 if anything is wrong, or still wrong.
func (c *archiveCommand) Run(ctx context.Context, streams cli.Streams) error {
	place, err := c.Place(c.QuietLogger(streams.Err))
	if err != nil {
		return err
	}
	if c.Heal {
		return c.heal(ctx, place, streams)
	}
	var source archive.Source
	log, _, logErr := readLog(ctx, &c.Common, nil, streams.Err)
	if logErr == nil {
		defer log.Close()
		source = log
	}
	status, err := archive.Inspect(ctx, place, source)
	if err != nil {
		return err
	}
	if logErr != nil {
		status.LogError = logErr.Error()
	}
	err = logreport.Archive(streams.Out, status, c.JSON)
	if err == nil && len(status.Faults) > 0 {
		return cli.Status(cli.ExitNo)
	}
	return err
}

func (c *archiveCommand) heal(ctx context.Context, place storage.Place, streams cli.Streams) error {
	log, _, err := readLog(ctx, &c.Common, nil, streams.Err)
	if err != nil {
		return err
	}
	defer log.Close()
	result, err := archive.Heal(ctx, archive.Config{Place: place, Source: log, Logger: c.QuietLogger(streams.Err)})
	if err != nil {
		return err
	}
	err = logreport.HealedArchive(streams.Out, result, c.JSON)
	if err == nil && len(result.Left) > 0 {
		return cli.Status(cli.ExitNo)
	}
	return err
}
