package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type explainCommand struct {
	readFlags
	EventID string `arg:"" optional:"" help:"Id of an event, as the provider or the tables have it."`
	Seq     uint64 `name:"seq" help:"The message at this place of the log instead."`
	User    string `name:"user" help:"A user instead."`
	Limit   int    `name:"limit" default:"1000" help:"Most items of a list; the newest are shown."`
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

// answer is what there is to write.
type answer interface {
	Write(w io.Writer, asJSON bool) error
}

// Run answers; with exit status 3 where nothing is known.
func (c *explainCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	log, err := c.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	var found answer
	err = c.read(ctx, logger, func(ctx context.Context, tables *store.Store) (err error) {
		found, err = c.ask(ctx, log, tables)
		return err
	})
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotPrepared) {
		fmt.Fprintln(streams.Err, c.unknown(ctx, log, err))
		return cli.Status(cli.ExitNo)
	}
	if err != nil {
		return err
	}
	return found.Write(streams.Out, c.JSON)
}

func (c *explainCommand) ask(ctx context.Context, log *eventlog.Log, tables *store.Store) (answer, error) {
	if c.User != "" {
		story, err := tables.ExplainUser(ctx, strings.ToValidUTF8(c.User, "\uFFFD"), c.Limit)
		return report.User{UserStory: story}, err
	}
	var story store.EventStory
	var err error
	if c.Seq != 0 {
		story, err = tables.ExplainSeq(ctx, c.Seq, c.Limit)
		if errors.Is(err, store.ErrUnknown) {
			live, err := tables.SchemaNamed(ctx, store.LiveSchema)
			if err != nil {
				return nil, err
			}
			return report.FindPending(ctx, log, live.LogID, c.Seq)
		}
	} else {
		story, err = tables.ExplainEvent(ctx, report.EventIDs(c.EventID), c.Limit)
	}
	if err != nil {
		return nil, err
	}
	return report.NewEvent(ctx, log, story), nil
}

// unknown is the one line that says no.
func (c *explainCommand) unknown(ctx context.Context, log *eventlog.Log, err error) string {
	switch {
	case errors.Is(err, store.ErrNotPrepared):
		return err.Error()
	case c.User != "":
		return report.UnknownUser(c.User)
	case c.Seq != 0:
		return err.Error()
	}
	return report.UnknownEvent(ctx, log, c.EventID)
}
