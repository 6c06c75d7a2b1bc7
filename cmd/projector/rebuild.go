package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/verify"
)

type rebuildCommand struct {
	sourceFlags
	rulesFlags
	extrasFlag
	Schema   string    `name:"schema" placeholder:"NAME" default:"portal_next" help:"The schema in which the tables are built; an earlier rebuild there is continued."`
	UntilSeq *uint64   `name:"until-seq" placeholder:"N" help:"Build the tables as of that message."`
	Until    time.Time `name:"until" placeholder:"TIME" help:"Build the tables as of that moment, by the log's clock (RFC 3339)."`
	Promote  bool      `name:"promote" help:"Make them the live tables at the end."`
	Fewer    bool      `name:"accept-fewer-products" help:"With --promote: although the catalogue lacks products that the live tables sell."`
	DryRun   bool      `name:"dry-run" help:"Change nothing: say by user what a rebuild would change."`
	Limit    int       `name:"limit" placeholder:"N" default:"50" help:"Of a dry run, maximum of users to list."`
	JSON     bool      `name:"json" help:"Progress and result as one JSON object a line."`
}

// Check implements cli.Checked.
func (c *rebuildCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
	c.extrasFlag.check(&c.rules, faults)
	faults.Add(store.CheckName(c.Schema))
	if c.UntilSeq != nil && !c.Until.IsZero() {
		faults.Addf("--until-seq and --until are both set")
	}
	if c.Until.After(time.Now()) {
		faults.Addf("--until is in the future")
	}
	if c.Promote && (c.UntilSeq != nil || !c.Until.IsZero()) {
		faults.Addf("--promote: tables as of the past cannot be live")
	}
	if c.DryRun && (c.Promote || c.UntilSeq != nil || !c.Until.IsZero() || len(c.With) > 0) {
		faults.Addf("--dry-run compares with the live tables: leave out --promote, --until-seq, --until and --with")
	}
	if c.Limit < 1 {
		faults.Addf("--limit is %d, must be at least 1", c.Limit)
	}
	if len(c.With) > 0 && c.Promote {
		faults.Addf("--promote: projectors do not update %s, so these tables cannot be live", strings.Join(c.With, ", "))
	}
}

// Run builds the tables, and promotes them if that was asked for. A dry run ends with 3 if something would change.
func (c *rebuildCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	if c.DryRun {
		return c.preview(ctx, streams, logger)
	}
	if err := c.expectLog(ctx, logger); err != nil {
		return err
	}
	return c.with(ctx, store.Config{Schema: c.Schema}, logger, withLog(logger, func(ctx context.Context, s sources) error {
		inBackground()
		defer s.store.LogBlocking(ctx, logger)()
		progress := report.Progress(streams.Out, streams.Err, "rebuild "+c.Schema, c.JSON)
		fold := s.rebuild(c.rules, progress, logger)
		if c.Promote {
			return promoteAndTell(ctx, promote.Command{Rebuild: fold, Build: true, AcceptFewerProducts: c.Fewer}, streams, c.JSON)
		}
		built, err := (&rebuild.Command{Rebuild: fold, UntilSeq: c.UntilSeq, Until: c.Until}).Run(ctx)
		if err != nil {
			return err
		}
		return report.Built(streams.Out, built, c.With, c.JSON)
	}))
}

// preview says what a rebuild would change.
func (c *rebuildCommand) preview(ctx context.Context, streams cli.Streams, logger *slog.Logger) error {
	return c.withSchema(ctx, store.LiveSchema, logger, func(ctx context.Context, s sources) error {
		inBackground()
		progress := report.Progress(streams.Out, streams.Err, "fold beside the live tables", c.JSON)
		preview := verify.Preview{
			Log: s.log, Tables: s.store, Rules: c.rules, Logger: logger, Progress: progress, Limit: c.Limit,
		}
		if c.JSON {
			preview.Limit = 0
		}
		found, err := preview.Run(ctx)
		if err != nil {
			return err
		}
		if err := report.Previewed(streams.Out, found, c.Limit, c.JSON); err != nil {
			return err
		}
		if !found.Nothing() {
			return cli.Status(cli.ExitNo)
		}
		return nil
	})
}

// rebuild folds the log into the tables of the store's schema.
func (s sources) rebuild(rules projections.Rules, progress func(position, until uint64), logger *slog.Logger) rebuild.Rebuild {
	return rebuild.Rebuild{Log: s.log, Store: s.store, Rules: rules, Logger: logger, Progress: progress}
}
