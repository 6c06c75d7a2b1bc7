package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type explainCommand struct {
	readFlags
	EventID string `arg:"" optional:"" help:"Id of an event, in the provider's form or in that of the tables."`
	Seq     uint64 `name:"seq" help:"Sequence of a message of the log, instead of an event's id."`
	User    string `name:"user" help:"Id of a user, instead of an event's id."`
	Limit   int    `name:"limit" default:"1000" help:"Maximum number of items of a list; the newest are shown."`
}

// Check implements cli.Checked.
func (c *explainCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	asked := 0
	for _, given := range []bool{c.EventID != "", c.Seq != 0, c.User != ""} {
		if given {
			asked++
		}
	}
	if asked != 1 {
		faults.Addf("explain wants one of EVENT_ID, --seq and --user; seq counts from 1")
	}
	if c.Limit < 1 || c.Limit > 1_000_000 {
		faults.Addf("--limit is %d, must be 1 to 1000000", c.Limit)
	}
}

// Run prints the answer. The exit status is 3 if nothing is known.
func (c *explainCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	log, err := c.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	var answer report.Answer
	err = c.read(ctx, logger, func(ctx context.Context, tables *store.Store) (err error) {
		answer, err = report.Explain(ctx, log, tables, report.Question{EventID: c.EventID, Seq: c.Seq, User: c.User, Limit: c.Limit})
		return err
	})
	if errors.As(err, new(report.UnknownError)) || errors.Is(err, store.ErrNotPrepared) {
		fmt.Fprintln(streams.Err, err)
		return cli.Status(cli.ExitNo)
	}
	if err != nil {
		return err
	}
	return answer.Write(streams.Out, c.JSON)
}
