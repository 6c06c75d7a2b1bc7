package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
)

type createStreamCommand struct {
	cli.Common
	streamFlags
	cli.ArchiveFlags
	keepFlags
	Replicas int `name:"stream-replicas" env:"STREAM_REPLICAS" default:"3" help:"Replicas of the stream."`
}

// Check implements cli.Checked.
func (c *createStreamCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.streamFlags.Check(faults)
	c.CheckArchive(&c.Common, faults)
	c.keepFlags.Check(faults)
	checkReplicas(c.Replicas, faults)
	if c.NATSURL == "" {
		faults.Addf("NATS_URL is missing: the stream is that of a NATS cluster; ingest itself makes the stream of an embedded log when it starts")
	}
}

// Run creates the stream if it does not exist. It fails if the archive, if one is named, has a log or cannot be read, and
// if the settings of an existing stream do not keep every event.
func (c *createStreamCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.Logger(streams.Err)
	log, err := eventlog.Connect(logConfig(&c.Common, logger))
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = log.AwaitInfo(ctx, logTimeout)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if errors.Is(err, eventlog.ErrNoStream) {
		err = requireNoArchived(ctx, &c.ArchiveFlags, logger)
	}
	if errors.Is(err, errArchiveUnreadable) {
		return fmt.Errorf("there is no log, and %w; the archive may have a lost log: run the command again when it can be read; "+
			"if there never was a log, run it with ARCHIVE_URL=none", err)
	}
	if err != nil {
		return err
	}
	return log.CreateStream(ctx, c.config(c.NATSStream, c.Replicas, c.keepFlags), logger)
}
