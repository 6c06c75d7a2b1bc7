package main

import (
	"context"
	"strconv"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/export"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type exportCommand struct {
	readFlags
	rulesFlags
	Folder string `arg:"" name:"dir" help:"The folder to make; it must not be there yet, or be empty."`
	Format string `name:"format" enum:"parquet,csv" default:"parquet" help:"Form of the files: parquet or csv."`
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
	var written export.Manifest
	if c.AsOf != "" {
		written, err = c.runAsOf(ctx, streams, folder)
	} else {
		err = c.read(ctx, c.QuietLogger(streams.Err), func(ctx context.Context, tables *store.Store) (err error) {
			written, err = export.Export{Tables: tables, Folder: folder, Format: c.Format, Spends: true}.Run(ctx)
			return err
		})
	}
	if err != nil {
		return err
	}
	return report.Exported(streams.Out, written, c.Folder, c.JSON)
}

// runAsOf folds the log into a schema of its own, which it drops at the end.
func (c *exportCommand) runAsOf(
	ctx context.Context, streams cli.Streams, folder *export.Folder,
) (written export.Manifest, err error) {
	if err := c.expectDatabase(); err != nil {
		return written, err
	}
	logger := c.QuietLogger(streams.Err)
	config := store.Config{Schema: store.ExportSchema}
	err = c.with(ctx, config, logger, withLog(logger, func(ctx context.Context, s sources) error {
		inBackground()
		defer s.store.LogBlocking(ctx, logger)()
		progress := report.NewProgress(streams.Err, streams.Err, "fold beside the live tables", false)
		past := rebuild.Command{Rebuild: s.rebuild(c.rules, progress, logger), UntilSeq: c.untilSeq, Until: c.until}
		return past.Use(ctx, func(ctx context.Context, _ store.Schema) (err error) {
			progress.End()
			written, err = export.Export{Tables: s.store, Folder: folder, Format: c.Format, Moment: c.until}.Run(ctx)
			return err
		})
	}))
	return written, err
}
