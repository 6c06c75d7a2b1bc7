package main

import (
	"context"
	"path/filepath"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/logreport"
)

// archiveFlags say where the archive is.
type archiveFlags struct {
	ArchiveURL string `name:"archive-url" env:"ARCHIVE_URL" help:"Where the log is archived: a folder, s3://bucket/prefix, or none; the default is the folder archive in the data directory, and none with a log elsewhere (nats-url)."`
	S3Endpoint string `name:"archive-s3-endpoint" env:"ARCHIVE_S3_ENDPOINT" help:"URL of an object store that is not Amazon's."`
}

// check adds the faults and sets the default.
func (f *archiveFlags) check(common *cli.Common, faults *cli.Faults) {
	switch {
	case f.ArchiveURL == "" && common.NATSURL != "":
		f.ArchiveURL = storage.None
	case f.ArchiveURL == "":
		f.ArchiveURL = filepath.Join(common.DataDir, "archive")
	}
	if f.ArchiveURL == storage.None {
		return
	}
	if _, err := f.place(); err != nil {
		faults.Addf("ARCHIVE_URL: %w", err)
	}
}

func (f *archiveFlags) place() (storage.Place, error) {
	return storage.Settings{URL: f.ArchiveURL, S3Endpoint: f.S3Endpoint}.Place()
}

type archiveCommand struct {
	cli.Common
	archiveFlags
	Heal bool `name:"heal" help:"Read every byte of the archive, and make again from the log what is damaged or missing."`
	JSON bool `name:"json" help:"One JSON object."`
}

// Check implements cli.Checked.
func (c *archiveCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.check(&c.Common, faults)
	if c.ArchiveURL == storage.None {
		faults.Addf("ARCHIVE_URL is none: there is no archive")
	}
}

// Run reads header and footer of every segment and changes nothing, unless it heals. The exit
// status is 3 if anything is wrong, or still wrong.
func (c *archiveCommand) Run(ctx context.Context, streams cli.Streams) error {
	place, err := c.place()
	if err != nil {
		return err
	}
	if c.Heal {
		return c.heal(ctx, place, streams)
	}
	var source archive.Source
	log, _, away := readLog(ctx, &c.Common, streams.Err)
	if away == nil {
		defer log.Close()
		source = log
	}
	status, err := archive.Inspect(ctx, place, source)
	if err != nil {
		return err
	}
	if away != nil {
		status.LogError = away.Error()
	}
	err = logreport.Archive(streams.Out, status, c.JSON)
	if err == nil && len(status.Faults) > 0 {
		return cli.Status(cli.ExitNo)
	}
	return err
}

func (c *archiveCommand) heal(ctx context.Context, place storage.Place, streams cli.Streams) error {
	log, _, err := readLog(ctx, &c.Common, streams.Err)
	if err != nil {
		return err
	}
	defer log.Close()
	result, err := archive.Heal(ctx, archive.Config{Place: place, Source: log, Logger: c.QuietLogger(streams.Err)})
	if err != nil {
		return err
	}
	err = logreport.HealedArchive(streams.Out, result, c.JSON)
	if err == nil && len(result.Left) > 0 {
		return cli.Status(cli.ExitNo)
	}
	return err
}
