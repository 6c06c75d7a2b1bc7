package main

import (
	"context"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
)

type createStreamCommand struct {
	cli.Common
	streamFlags
}

// Check implements cli.Checked.
func (c *createStreamCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.streamFlags.Check(faults)
	if c.NATSURL == "" {
		faults.Addf("NATS_URL is missing: the embedded log creates its stream itself")
	}
}

// Run creates the stream and returns when it is there.
func (c *createStreamCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.Logger(streams.Err)
	log, err := eventlog.Connect(eventlog.Config{
		URL: c.NATSURL, Credentials: c.NATSCreds, Stream: c.NATSStream, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := log.EnsureStream(ctx, c.config(c.NATSStream), logger); err != nil {
		return err
	}
	logger.InfoContext(ctx, "the stream is there", "stream", c.NATSStream)
	return nil
}
