package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/export"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type exportCommand struct {
	readFlags
	rulesFlags
	Folder string `arg:"" name:"dir" help:"The folder to make; it must not be there yet, or be empty."`
	Format string `name:"format" enum:"parquet,csv" default:"parquet" help:"Form of the files: parquet or csv."`
	NoRoot bool   `name:"no-log-root" help:"Do not read the whole log to write its root into the manifest."`
	AsOf   string `name:"as-of" placeholder:"SEQ|TIME" help:"The tables as of that message, or that moment by the log's clock (RFC 3339)."`

	untilSeq *uint64
	until    time.Time
}

// Check implements cli.Checked.
func (c *exportCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	if c.AsOf == "" {
		return
	}
	c.rulesFlags.Check(faults)
	if seq, err := strconv.ParseUint(c.AsOf, 10, 64); err == nil {
		c.untilSeq = &seq
		return
	}
	var err error
	if c.until, err = time.Parse(time.RFC3339, c.AsOf); err != nil {
		faults.Addf("--as-of is %q, must be a sequence or a time such as 2026-11-30T23:59:59Z", c.AsOf)
	}
	if c.until.After(time.Now()) {
		faults.Addf("--as-of is in the future")
	}
}

// Run makes the folder and writes the files.
func (c *exportCommand) Run(ctx context.Context, streams cli.Streams) error {
	folder, err := export.NewFolder(c.Folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	logger := c.QuietLogger(streams.Err)
	log, err := c.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	files := export.Export{Folder: folder, Format: c.Format}
	if !c.NoRoot {
		files.Root = rootOf(log, logger, streams)
	}
	var written export.Manifest
	if c.AsOf != "" {
		written, err = c.runAsOf(ctx, streams, files)
	} else {
		err = c.read(ctx, logger, func(ctx context.Context, tables *store.Store) (err error) {
			files.Tables, files.Spends = tables, true
			written, err = files.Run(ctx)
			return err
		})
	}
	if err != nil {
		return err
	}
	return report.Exported(streams.Out, written, c.Folder, c.JSON)
}

// rootOf returns the question for the root of the log. If the log cannot tell it, an export is of use without it.
func rootOf(
	log *eventlog.Log, logger *slog.Logger, streams cli.Streams,
) func(context.Context, string, uint64) (*export.LogRoot, error) {
	return func(ctx context.Context, logID string, until uint64) (*export.LogRoot, error) {
		_, err := log.Reach(ctx, logger, logTimeout)
		var covered proof.Checkpoint
		if err == nil {
			covered, err = proof.Cover(ctx, log, logID, until)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			fmt.Fprintf(streams.Err, "The manifest is without the root of the log: %v.\n", err)
			return nil, nil
		}
		return &export.LogRoot{Messages: covered.Size, Hash: covered.Root.String(), FirstSeq: covered.First}, nil
	}
}

// runAsOf folds the log into a schema of its own, which it drops at the end.
func (c *exportCommand) runAsOf(
	ctx context.Context, streams cli.Streams, files export.Export,
) (written export.Manifest, err error) {
	if err := c.expectDatabase(); err != nil {
		return written, err
	}
	logger := c.QuietLogger(streams.Err)
	config := store.Config{Schema: store.ExportSchema}
	err = c.with(ctx, config, logger, withLog(logger, func(ctx context.Context, s sources) error {
		inBackground()
		defer s.store.LogBlocking(ctx, logger)()
		progress := report.Progress(streams.Err, streams.Err, "fold beside the live tables", false)
		past := rebuild.Command{Rebuild: s.rebuild(c.rules, progress, logger), UntilSeq: c.untilSeq, Until: c.until}
		return past.Use(ctx, func(ctx context.Context, _ store.Schema) (err error) {
			files.Tables, files.Moment = s.store, c.until
			written, err = files.Run(ctx)
			return err
		})
	}))
	return written, err
}
