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
	if len(c.With) > 0 && c.Promote {
		faults.Addf("--promote: projectors do not update %s, so these tables cannot be live", strings.Join(c.With, ", "))
	}
}

// Run builds the tables, and promotes them if that was asked for.
func (c *rebuildCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	if err := c.expectLog(ctx, logger); err != nil {
		return err
	}
	return c.with(ctx, store.Config{Schema: c.Schema}, logger, withLog(logger, func(ctx context.Context, s sources) error {
		inBackground()
		defer s.store.LogBlocking(ctx, logger)()
		progress := report.NewProgress(streams.Out, streams.Err, "rebuild "+c.Schema, c.JSON)
		fold := s.rebuild(c.rules, progress, logger)
		if c.Promote {
			return promoteAndTell(ctx, promote.Command{Rebuild: fold, Build: true, AcceptFewerProducts: c.Fewer}, progress, streams, c.JSON)
		}
		built, err := (&rebuild.Command{Rebuild: fold, UntilSeq: c.UntilSeq, Until: c.Until}).Run(ctx)
		progress.End()
		if err != nil {
			return err
		}
		return report.Built(streams.Out, built, c.With, c.JSON)
	}))
}

// rebuild folds the log into the tables of the store's schema.
func (s sources) rebuild(rules projections.Rules, progress *report.Progress, logger *slog.Logger) rebuild.Rebuild {
	return rebuild.Rebuild{Log: s.log, Store: s.store, Rules: rules, Logger: logger, Progress: progress.At}
}
