package main

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/report/watch"
	"github.com/payfold/payfold/internal/store"
)

type statusCommand struct {
	readFlags
	Watch bool `name:"watch" help:"Show the status again every 2 seconds, with the rate, until Ctrl-C."`
}

// watchPause is the pause after a page, so that slow answers do not load the database more.
const watchPause = 2 * time.Second

// UntilStopped implements cli.Service.
func (c *statusCommand) UntilStopped() bool { return c.Watch }

// Run prints the status. Without the database it prints the rest and fails, unless it watches.
func (c *statusCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	log, err := c.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	read := func(ctx context.Context) (status.Status, error) {
		return status.Read(ctx, log, func(ctx context.Context, work func(context.Context, *store.Store) error) error {
			return c.read(ctx, logger, work)
		})
	}
	if c.Watch {
		return c.watch(ctx, read, streams)
	}
	now, fault := read(ctx)
	if err := now.Write(streams.Out, c.JSON); err != nil {
		return err
	}
	if fault != nil { // the status shows the fault
		return cli.Status(cli.ExitFailed)
	}
	return nil
}

func (c *statusCommand) watch(ctx context.Context, read func(context.Context) (status.Status, error), streams cli.Streams) error {
	return watch.Watch{
		Read: func(ctx context.Context) status.Status {
			now, _ := read(ctx) // the page says what is wrong
			return now
		},
		Pause: func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-time.After(watchPause):
			}
		},
		Now: time.Now, Out: streams.Out, JSON: c.JSON,
	}.Run(ctx)
}
