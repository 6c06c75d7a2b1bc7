package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/verify"
)

type quarantineCommand struct {
	Retry quarantineRetryCommand `cmd:"" help:"Try a quarantined event again, and fold again all events of its customers."`
}

type quarantineRetryCommand struct {
	settleCommand
	Seq uint64 `arg:"" help:"Sequence of the event in the log."`
}

// Run tries the event again, while live work continues. The exit status is 3 if it is not quarantined.
func (c *quarantineRetryCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.settle(ctx, streams, func(ctx context.Context, settle *verify.Settle) error {
		done, err := settle.Retry(ctx, c.Seq)
		switch {
		case errors.Is(err, verify.ErrNotQuarantined):
			fmt.Fprintln(streams.Err, err)
			return cli.Status(cli.ExitNo)
		case err != nil:
			return err
		}
		return report.TriedAgain(streams.Out, done, c.JSON)
	})
}
